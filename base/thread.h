// Threads of heddle's own inside somebody's program: they take none of its signals, and their names
// tell whose they are (`top -H`, `ps -L`). All of heddle's start here: where the system allows no
// more threads, that is an answer and nothing is thrown.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"

namespace heddle {

class Thread {
 public:
  Thread() = default;  // none
  bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }

 private:
  friend Result<Thread> start_thread(const char* name, std::function<void()> work);
  explicit Thread(std::thread thread) : thread_(std::move(thread)) {}

  std::thread thread_;
};

// `name` has at most 15 characters. Errors: kExhausted (limit of the user, the container or
// memory). An exception that leaves `work` ends the process, which says the thread's name and why;
// std::bad_alloc is the only one that heddle's own work may end with.
Result<Thread> start_thread(const char* name, std::function<void()> work);

}  // namespace heddle
