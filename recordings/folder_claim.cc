// See folder_claim.h. The lock goes with its process, however that ends.
#include "recordings/folder_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "events/recording_directory.h"

namespace heddle::recordings {

Result<FolderClaim> FolderClaim::of(const std::string& folder) {
  const bool made = mkdir(folder.c_str(), 0700) == 0;
  Result<void> own = events::own_directory(folder);
  if (!own) return fail(own.error());
  Descriptor held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held.valid() && flock(held.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kInUse, "cannot record in " + folder,
                "another `heddle record` records there now", "choose another folder");
  }
  return FolderClaim(made ? folder : "", std::move(held));
}

FolderClaim::FolderClaim(std::string made, Descriptor held)
    : made_(std::move(made)), held_(std::move(held)) {}

FolderClaim::~FolderClaim() {
  if (!made_.empty()) rmdir(made_.c_str());
}

}  // namespace heddle::recordings
