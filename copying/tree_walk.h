// TreeWalk: the entries of files and folders, one at a time and depth first. It holds the folders
// that it is in, not their entries, so its memory depends on depth alone. No symbolic link below a
// source is followed, also where a folder is replaced by one meanwhile.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::copying {

enum class EntryKind : uint8_t { kFolder, kLeave, kFile, kLink };

// Whether both are of one file: the same inode of the same file system.
inline bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

struct TreeEntry {
  EntryKind kind = EntryKind::kFile;
  std::string source;  // where it is
  std::string path;    // relative to the destination
  std::string target;  // of a link
  struct stat state {};
};

class TreeWalk {
 public:
  // "data" is copied as the folder "data"; of "data/" the content is copied, as rsync does.
  explicit TreeWalk(std::vector<std::string> sources) : sources_(std::move(sources)) {}

  // The next entry; empty at the end. Errors concern one entry; the walk goes on behind it: kSystem
  // and kPermission (unreadable), kInvalid (a device, a socket, a pipe, too deep).
  Result<std::optional<TreeEntry>> next();

 private:
  struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  struct Level {
    std::unique_ptr<DIR, CloseFolder> folder;
    TreeEntry entry;
  };

  // What has `name` in `folder`.
  Result<std::optional<TreeEntry>> enter(int folder, const std::string& name, TreeEntry entry);
  std::string next_name();

  std::vector<std::string> sources_;
  size_t next_source_ = 0;
  std::vector<Level> levels_;
};

}  // namespace heddle::copying
