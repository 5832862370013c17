// SafeFolder: see safe_folder.h.
#include "copying/safe_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/hash.h"
#include "base/printable.h"
#include "base/write_error.h"
#include "copying/params.h"

namespace heddle::copying {
namespace {

constexpr std::string_view kPartEnd = ".heddle-part";
constexpr std::string_view kLinkEnd = ".heddle-link";
static_assert(kPartEnd.size() == kLinkEnd.size());
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// With `end`; of a name that would be too long the beginning and a checksum.
std::string hidden_name(const std::string& name, std::string_view end) {
  if (name.size() + end.size() + 1 <= params::kLongestName) return fmt::format(".{}{}", name, end);
  return fmt::format(".{}.{:016x}{}", name.substr(0, params::kKeptName), hash_text(name), end);
}

Unexpected bad_path(std::string_view path, const char* why) {
  return fail(ErrorCode::kInvalid, fmt::format("refuses the path {}", quoted_path(path)), why,
              "copy with heddle of the same version");
}

Unexpected cannot_open(int folder, const std::string& name, const std::string& path) {
  const int error = errno;
  struct stat found {};
  const bool link =
      fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
  const std::string what = fmt::format("cannot enter the folder {}", quoted_path(path));
  if (link) {
    return fail(ErrorCode::kInvalid, what,
                "it is a symbolic link in the destination, and a copy follows none there",
                "replace the link by a folder, or copy to where it leads");
  }
  if (error == ENOTDIR) {
    return fail(ErrorCode::kInvalid, what, "a file has this name in the destination",
                "remove or rename it there");
  }
  return fail(error == ENOENT ? ErrorCode::kUnavailable : ErrorCode::kPermission, what,
              std::strerror(error));
}

}  // namespace

std::string quoted_path(std::string_view path) { return "'" + printable(std::string(path)) + "'"; }

bool is_part_name(std::string_view name) {
  return name.size() > kPartEnd.size() + 1 && name.front() == '.' &&
         (name.ends_with(kPartEnd) || name.ends_with(kLinkEnd));
}

std::string part_name(const std::string& name) { return hidden_name(name, kPartEnd); }
std::string fresh_link_name(const std::string& name) { return hidden_name(name, kLinkEnd); }

Result<void> check_path(std::string_view path) {
  if (path.empty()) return bad_path(path, "it is empty");
  if (path.size() > params::kLongestPath) return bad_path(path, "it is too long");
  if (path.front() == '/') return bad_path(path, "it is absolute, and leaves the destination");
  if (path.find('\0') != std::string_view::npos) return bad_path(path, "it has a zero byte");
  while (true) {
    const size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (name == "..") return bad_path(path, "'..' would leave the destination");
    if (name.empty() || name == ".") return bad_path(path, "it has an empty name or '.'");
    if (name.size() > params::kLongestName) return bad_path(path, "a name in it is too long");
    if (is_part_name(name)) return bad_path(path, "incomplete files of a copy have such names");
    if (end == std::string_view::npos) return {};
    path.remove_prefix(end + 1);
  }
}

Result<SafeFolder> SafeFolder::open(const std::string& path, bool make) {
  if (make) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
  }
  Descriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kUnavailable : ErrorCode::kPermission;
    return fail(code, fmt::format("cannot open the folder {}", quoted_path(path)),
                std::strerror(errno), "name a folder that is there and that you may enter");
  }
  return SafeFolder(std::move(root));
}

Result<Descriptor> SafeFolder::walk(const std::string& path, bool make) const {
  Descriptor folder(fcntl(root_.number(), F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) {
    return fail(ErrorCode::kSystem, "cannot open a folder", std::strerror(errno));
  }
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    if (make && mkdirat(folder.number(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      return cannot_write(fmt::format("cannot make the folder {}", quoted_path(path)), errno,
                          "free space there");
    }
    Descriptor next(openat(folder.number(), name.c_str(), kFolderFlags));
    if (!next.valid()) return cannot_open(folder.number(), name, path.substr(0, end));
    folder = std::move(next);
    at = end + 1;
  }
  return folder;
}

Result<SafeFolder> SafeFolder::below(const std::string& path, bool make) {
  if (!path.empty()) {
    if (Result<void> good = check_path(path); !good) return fail(good.error());
  }
  Result<Descriptor> folder = walk(path, make);
  if (!folder) return fail(folder.error());
  return SafeFolder(std::move(*folder));
}

Result<SafeFolder::Place> SafeFolder::place_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Place{root_.number(), path};
  const std::string above = path.substr(0, slash);
  if (!latest_.valid() || above != latest_path_) {
    Result<Descriptor> folder = walk(above, false);
    if (!folder) return fail(folder.error());
    latest_ = std::move(*folder);
    latest_path_ = above;
  }
  return Place{latest_.number(), path.substr(slash + 1)};
}

}  // namespace heddle::copying
