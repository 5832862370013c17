// FolderClaim: `heddle record` holds the folder that it records in, so that no other one begins to
// record there before this one's first process has.
#pragma once

#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::recordings {

class FolderClaim {
 public:
  // Makes the folder where it is missing. Errors: kInUse (another one holds it), those of
  // events::own_directory(). If it cannot be read, or its file system has no locks, nothing is
  // held: the process that records there reports the error.
  static Result<FolderClaim> of(const std::string& folder);
  // Removes a folder that it created if that is empty.
  ~FolderClaim();
  FolderClaim(FolderClaim&& other) noexcept
      : made_(std::exchange(other.made_, {})), held_(std::move(other.held_)) {}
  FolderClaim& operator=(FolderClaim&&) = delete;

 private:
  FolderClaim(std::string made, Descriptor held);

  std::string made_;  // empty: it was there
  Descriptor held_;
};

}  // namespace heddle::recordings
