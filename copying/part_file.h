// PartFile: a file that is being received. It has a name of its own until it is whole, and one
// process at a time writes it.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "copying/digest.h"
#include "copying/safe_folder.h"

namespace heddle::copying {

// By this a file is known as the one that was looked at, unchanged.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  bool operator==(const FileState&) const = default;
};
FileState state_of(const struct stat& found);
// Since 1970; times beyond what 64 bits hold are the last ones that they do.
int64_t nanoseconds_of(const timespec& time);

// An incomplete file as it is there; 0 bytes: none that this user's copies made. While another copy
// writes it the checksum may be of bytes that are no more: then the state differs later.
struct PartRead {
  FileState state;
  Digest digest;
  bool settled = false;  // a later change shows in the state
};
FileState part_state(const SafeFolder::Place& place);
// `stopped` is asked between pieces. Errors: kSystem (unreadable), kCancelled.
Result<PartRead> read_part(const SafeFolder::Place& place, const std::function<bool()>& stopped);

class PartFile {
 public:
  // Opens or makes it. What has its name and is no file of this user's alone is removed first:
  // another name of the same file would be written, too. One that another copy writes is left.
  // Errors: kInUse (another copy writes it), kInvalid (a folder has the name), kPermission,
  // kExhausted (full disk), kSystem. `path` is for messages.
  static Result<PartFile> open(const SafeFolder::Place& place, const std::string& path);

  // Keeps its first `from` bytes. Errors: kInvalid if it has fewer.
  Result<void> keep(uint64_t from);
  // Adds those bytes to a checksum. Errors: kSystem, kCancelled.
  Result<void> read_kept(Digest& digest, const std::function<bool()>& stopped);
  // Errors: kExhausted (full disk), kSystem.
  Result<void> append(std::span<const std::byte> data);
  // Gives it its permissions, its time and its name, in place of an older file. Errors: kInvalid (a
  // folder has the name), kInUse (another file has the part's name), those of append().
  Result<void> finish(uint32_t mode, int64_t mtime_ns);
  // Unless another file has its name.
  void remove();
  uint64_t bytes() const { return bytes_; }
  // As it was when it was opened.
  const FileState& opened() const { return opened_; }
  const std::string& path() const { return path_; }

 private:
  Unexpected failed(int error) const;
  bool has_name() const;

  Descriptor folder_;
  Descriptor file_;
  std::string name_;
  std::string path_;
  FileState opened_;
  uint64_t bytes_ = 0;
};

enum class Kind : uint8_t { kFile, kFolder, kLink };
// Sets permissions and time of a file or folder that is there, or the time of a link. Errors:
// kInvalid (it is of another kind), kPermission, kSystem.
Result<void> set_attributes(const SafeFolder::Place& place, Kind kind, uint32_t mode,
                            int64_t mtime_ns);
// Lets this user write in a folder of theirs until its permissions are set. Errors likewise.
Result<void> open_for_writing(const SafeFolder::Place& folder);

}  // namespace heddle::copying
