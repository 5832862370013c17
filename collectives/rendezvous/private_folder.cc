// Private folders: see private_folder.h.
#include "collectives/rendezvous/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace heddle::collectives {
namespace {

constexpr const char* kElsewhere =
    "set XDG_RUNTIME_DIR or TMPDIR for all ranks to a folder of your own, or HEDDLE_STORE to "
    "file:///PATH in one";

Unexpected refused(ErrorCode code, const std::string& path, const std::string& why) {
  return fail(code, "cannot use the folder '" + path + "' for files of a run", why, kElsewhere);
}

Unexpected refused_by_system(const std::string& path, int error) {
  const ErrorCode code = error == EACCES || error == EPERM || error == EROFS
                             ? ErrorCode::kPermission
                         : error == ENOENT ? ErrorCode::kUnavailable
                                           : ErrorCode::kSystem;
  return refused(code, path, std::strerror(error));
}

// Whether others cannot rename or remove what lies in the folder above.
Result<void> check_parent(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  struct stat about {};
  if (stat(parent.empty() ? "/" : parent.c_str(), &about) != 0) {
    return refused_by_system(path, errno);
  }
  if (about.st_uid != 0 && about.st_uid != geteuid()) {
    return refused(ErrorCode::kPermission, path,
                   fmt::format("'{}' belongs to user {}", parent, about.st_uid));
  }
  const bool others_write = (about.st_mode & 022) != 0 && (about.st_mode & S_ISVTX) == 0;
  if (!others_write) return {};
  return refused(ErrorCode::kPermission, path,
                 fmt::format("other users may rename it: '{}' is writable for them, without the "
                             "sticky bit",
                             parent));
}

}  // namespace

std::string private_folder(std::string_view runtime_folder, std::string_view temporary_folder) {
  if (runtime_folder.starts_with('/')) return std::string(runtime_folder) + "/heddle";
  const std::string_view place = temporary_folder.starts_with('/') ? temporary_folder : "/tmp";
  return fmt::format("{}/heddle-{}", place, geteuid());
}

Result<void> make_private_folder(const std::string& path) {
  if (Result<void> safe = check_parent(path); !safe) return safe;
  const bool made = mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return refused_by_system(path, errno);
  // Not chmod: it follows links.
  const Descriptor folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) return refused_by_system(path, errno);
  if (S_ISLNK(about.st_mode)) {
    return refused(ErrorCode::kPermission, path,
                   fmt::format("it is a link, made by user {}", about.st_uid));
  }
  if (!S_ISDIR(about.st_mode)) {
    return refused(ErrorCode::kPermission, path,
                   fmt::format("it is no folder; user {} made it", about.st_uid));
  }
  if (about.st_uid != geteuid()) {
    return refused(ErrorCode::kPermission, path,
                   fmt::format("it belongs to user {}, who could read and change what is in it",
                               about.st_uid));
  }
  if (!folder.valid() || fstat(folder.number(), &about) != 0) {
    return refused_by_system(path, errno);
  }
  if ((about.st_mode & 077) != 0 && fchmod(folder.number(), 0700) != 0) {
    return refused_by_system(path, errno);
  }
  return {};
}

void remove_private_folder(const std::string& path) { rmdir(path.c_str()); }

}  // namespace heddle::collectives
