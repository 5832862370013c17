// See recording_directory.h.
#include "events/recording_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/write_error.h"

namespace heddle::events {

Unexpected cannot_record(const std::string& directory, int error) {
  return cannot_write("cannot record in " + directory, error,
                      "make room there, or choose another folder");
}

Result<void> own_directory(const std::string& directory) {
  if (directory.empty()) {
    return fail(ErrorCode::kInvalid, "cannot record", "no folder is given", "name one");
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot_record(directory, errno);
  }
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return cannot_record(directory, errno);
  if (!S_ISDIR(status.st_mode)) return cannot_record(directory, ENOTDIR);
  if (status.st_uid == geteuid() || geteuid() == 0) return {};
  return fail(ErrorCode::kInvalid, "cannot record in " + directory, "it belongs to another user",
              "choose a folder of your own");
}

}  // namespace heddle::events
