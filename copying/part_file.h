// PartFile: a file that is being received. It has a name of its own until it is whole, and one
// process at a time writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "copying/digest.h"
#include "copying/safe_folder.h"

namespace heddle::copying {

// How much of an incomplete file is there, and its checksum; nothing: 0 bytes. It may be read while
// another copy writes it. Errors: kSystem (unreadable).
Result<uint64_t> read_part(const SafeFolder::Place& place, Digest& digest);

class PartFile {
 public:
  // Opens or makes it. Errors: kInUse (another copy writes it), kPermission, kExhausted (full
  // disk), kSystem. `path` is for messages.
  static Result<PartFile> open(const SafeFolder::Place& place, const std::string& path);

  // Keeps its first `from` bytes. Errors: kInvalid if it has fewer.
  Result<void> keep(uint64_t from);
  // Adds those bytes to a checksum. Errors: kSystem.
  Result<void> read_kept(Digest& digest);
  // Errors: kExhausted (full disk), kSystem.
  Result<void> append(std::span<const std::byte> data);
  // Gives it its permissions, its time and its name, in place of an older file. Errors: kInvalid (a
  // folder has the name), those of append().
  Result<void> finish(uint32_t mode, int64_t mtime_ns);
  void remove();
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  Unexpected failed(int error) const;

  Descriptor folder_;
  Descriptor file_;
  std::string name_;
  std::string path_;
  uint64_t bytes_ = 0;
};

// Sets permissions and time of what is there; a link keeps its own permissions. Errors:
// kPermission, kSystem.
Result<void> set_attributes(const SafeFolder::Place& place, uint32_t mode, int64_t mtime_ns);

}  // namespace heddle::copying
