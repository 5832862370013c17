// FolderClaim: `heddle record` holds the folder that it records in, so that no other one begins to
// record there before this one's first process has.
#pragma once

#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::cli {

class FolderClaim {
 public:
  // Makes the folder where it is missing. Errors: kInUse (another one holds it), those of
  // events::own_directory(). Where it cannot be read, or its file system knows no locks,
  // nothing is held: who records there tells what is wrong.
  static Result<FolderClaim> of(const std::string& folder);
  // Takes back a folder that it made and that nothing was put in.
  ~FolderClaim();
  FolderClaim(FolderClaim&& other) noexcept
      : made_(std::exchange(other.made_, {})), held_(std::move(other.held_)) {}
  FolderClaim& operator=(FolderClaim&&) = delete;

 private:
  FolderClaim(std::string made, Descriptor held);

  std::string made_;  // empty: it was there
  Descriptor held_;
};

}  // namespace heddle::cli
