// FileWatch: notices that a file was written or replaced, through inotify on its folder. A look
// costs one system call, a few where something changed; they neither wait nor ask the file system,
// so a driving thread may make it. Not noticed: what other hosts change on a file server, and what
// is behind a symbolic link. PlanReader drives it.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace heddle::engine {

class FileWatch {
 public:
  // Notices nothing.
  FileWatch() = default;
  // Where the folder cannot be watched (there is none, or the user's instances of inotify are all
  // in use), it notices nothing. Asks the file system.
  explicit FileWatch(const std::string& file);

  // Whether a file was put in place under this name, or one that was open for writing was closed,
  // since the last call; or the folder was removed or moved: then it watches no more.
  bool take_change();
  bool watches() const { return opened_.valid(); }

 private:
  std::string name_;  // in its folder
  Descriptor opened_;
};

}  // namespace heddle::engine
