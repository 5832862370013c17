// Threads of heddle inside other programs: they block all signals, and their names identify them
// (`top -H`, `ps -L`). All heddle threads start here: if the system allows no more threads,
// start_thread() returns an error instead of throwing.
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
// memory). An exception that leaves `work` ends the process with a message that names the thread;
// std::bad_alloc is the only one that heddle's code may let escape.
Result<Thread> start_thread(const char* name, std::function<void()> work);

}  // namespace heddle
