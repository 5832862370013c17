// CallState: the state of one call that the progress thread shares with the threads that wait for
// it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/result.h"

namespace heddle::collectives {

class CallState {
 public:
  // `on_end` may be empty. `waits_for` returns the ranks that the call's communicator waits for.
  CallState(std::function<void(const Result<void>&)> on_end, std::function<std::string()> waits_for)
      : on_end_(std::move(on_end)), waits_for_(std::move(waits_for)) {}

  // By the progress thread, before the end: `report` emits an event when callers begin to wait for
  // the call, and when none waits any more. Empty: the communicator is destroyed.
  void posted(std::function<void(bool)> report);
  // By the progress thread, once.
  void end(const Result<void>& result);

  // In a child of fork() it is done, and its result is kClosed.
  bool done() const;
  Result<void> result() const;
  Result<void> wait(Nanos timeout);
  // Whether it ends in this time; no caller's wait, and not in a child of fork().
  bool ends_within(Nanos span);
  // For callers that wait by other means.
  void begin_wait();
  void end_wait();

 private:
  void report_waiting();  // under mutex_

  std::function<void(const Result<void>&)> on_end_;  // only the progress thread touches it
  const std::function<std::string()> waits_for_;
  mutable OwnMutex mutex_;
  std::condition_variable ended_;
  // All under mutex_:
  bool done_ = false;
  std::optional<Error> error_;
  std::function<void(bool)> report_;  // while the call runs
  uint32_t waiting_ = 0;              // callers
  bool reported_ = false;             // that some wait
};

}  // namespace heddle::collectives
