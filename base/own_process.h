// OwnProcess<T>: an object of the process that made it. In a child of fork(), here() returns null,
// so callers must handle that. The child never destroys the object, because its threads,
// descriptors and locks belong to the parent.
#pragma once

#include <memory>
#include <utility>

#include "base/fork_guard.h"

namespace heddle {

template <typename T>
class OwnProcess {
 public:
  explicit OwnProcess(std::shared_ptr<T> object) : object_(std::move(object)) {}
  ~OwnProcess() {
    if (fork_guard_.in_child()) new std::shared_ptr<T>(std::move(object_));  // NOLINT: kept
  }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // Null in a child.
  T* here() const { return fork_guard_.in_child() ? nullptr : object_.get(); }
  std::shared_ptr<T> shared_here() const { return fork_guard_.in_child() ? nullptr : object_; }

 private:
  const ForkGuard fork_guard_;
  std::shared_ptr<T> object_;
};

}  // namespace heddle
