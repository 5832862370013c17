// FileWatch: notices that a file was written or replaced, through inotify on its folder. A look
// costs one system call that neither waits nor asks the file system, so a driving thread may make
// it. Changes that other hosts make on a file server are not noticed. PlanFollower drives it.
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
  // since the last call.
  bool take_change();
  bool watches() const { return opened_.valid(); }

 private:
  std::string name_;  // in its folder
  Descriptor opened_;
};

}  // namespace heddle::engine
