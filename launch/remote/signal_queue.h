// SignalQueue: the signals of a process that stands for another one, as a descriptor to poll.
#pragma once

#include <optional>

#include "base/descriptor.h"

namespace heddle::launch {

class SignalQueue {
 public:
  // Blocks those that end a process or are a user's, and SIGCHLD; SIGPIPE is ignored.
  SignalQueue();

  bool valid() const { return queue_.valid(); }
  int descriptor() const { return queue_.number(); }
  // The next one, without waiting.
  std::optional<int> next();

 private:
  Descriptor queue_;
};

// In a child, before it becomes a program: all signals are as usual, none is blocked.
void restore_signals();
// Whether it asks a process to end.
bool is_ending(int number);

}  // namespace heddle::launch
