// TreeWalk: see tree_walk.h.
#include "copying/tree_walk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "copying/params.h"
#include "copying/safe_folder.h"

namespace heddle::copying {
namespace {

Unexpected unreadable(const std::string& source, int error) {
  return fail(error == EACCES ? ErrorCode::kPermission : ErrorCode::kSystem,
              fmt::format("cannot read {}", quoted_path(source)), std::strerror(error),
              error == ENOENT ? "" : "check its permissions");
}

// The last name of a source without the slashes behind it.
std::string name_of(std::string source) {
  while (source.size() > 1 && source.back() == '/') source.pop_back();
  return source.substr(source.rfind('/') + 1);
}

}  // namespace

Result<std::optional<TreeEntry>> TreeWalk::next() {
  if (levels_.empty()) {
    if (next_source_ == sources_.size()) return std::optional<TreeEntry>();
    const std::string& source = sources_[next_source_++];
    const std::string name = name_of(source);
    const bool content = source.ends_with('/') || name == "." || name == "..";
    return enter(AT_FDCWD, source, {.source = source, .path = content ? "" : name, .target = ""});
  }
  Level& level = levels_.back();
  const std::string name = next_name();
  if (name.empty()) {
    TreeEntry left = std::move(level.entry);
    levels_.pop_back();
    if (left.path.empty()) return next();
    left.kind = EntryKind::kLeave;
    return std::optional<TreeEntry>(std::move(left));
  }
  const std::string& above = level.entry.source;
  return enter(dirfd(level.folder.get()), name,
               {.source = above.ends_with('/') ? above + name : above + "/" + name,
                .path = level.entry.path.empty() ? name : level.entry.path + "/" + name,
                .target = ""});
}

std::string TreeWalk::next_name() {
  while (const dirent* const found = readdir(levels_.back().folder.get())) {
    const std::string_view name = found->d_name;
    if (name != "." && name != ".." && !is_part_name(name)) return std::string(name);
  }
  return {};
}

Result<std::optional<TreeEntry>> TreeWalk::enter(int folder, const std::string& name,
                                                 TreeEntry entry) {
  if (fstatat(folder, name.c_str(), &entry.state, AT_SYMLINK_NOFOLLOW) != 0) {
    return unreadable(entry.source, errno);
  }
  if (S_ISREG(entry.state.st_mode)) return std::optional<TreeEntry>(std::move(entry));
  if (S_ISLNK(entry.state.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(folder, name.c_str(), target.data(), target.size());
    if (length < 0) return unreadable(entry.source, errno);
    entry.kind = EntryKind::kLink;
    entry.target.assign(target.data(), static_cast<size_t>(length));
    return std::optional<TreeEntry>(std::move(entry));
  }
  if (!S_ISDIR(entry.state.st_mode)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot copy {}", quoted_path(entry.source)),
                "it is a device, a socket or a pipe", "copy files, folders and links");
  }
  if (levels_.size() == params::kDeepestFolder) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot copy {}", quoted_path(entry.source)),
                fmt::format("folders are nested more than {} deep", params::kDeepestFolder));
  }
  const int opened = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return unreadable(entry.source, errno);
  std::unique_ptr<DIR, CloseFolder> entries(fdopendir(opened));
  if (!entries) {
    close(opened);
    return unreadable(entry.source, errno);
  }
  entry.kind = EntryKind::kFolder;
  levels_.push_back({std::move(entries), entry});
  if (entry.path.empty()) return next();
  return std::optional<TreeEntry>(std::move(entry));
}

}  // namespace heddle::copying
