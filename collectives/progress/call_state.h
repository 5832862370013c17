// CallState: what the progress thread and those who wait share about one call.
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
  // `on_end` may be empty. `waits_for` tells for whom the call's communicator waits.
  CallState(std::function<void(const Result<void>&)> on_end, std::function<std::string()> waits_for)
      : on_end_(std::move(on_end)), waits_for_(std::move(waits_for)) {}

  // By the progress thread, before the end: `tell` says to whom observes it that somebody waits for
  // the call from here on, or that nobody does any more. Empty: what it told of goes.
  void posted(std::function<void(bool)> tell);
  // By the progress thread, once.
  void end(const Result<void>& result);

  // In a child of fork() it is done, and its result is kClosed.
  bool done() const;
  Result<void> result() const;
  Result<void> wait(Nanos timeout);
  // Whoever waits by other means says so.
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
  std::function<void(bool)> report_;  // while the call is under way
  uint32_t waiting_ = 0;              // callers
  bool reported_ = false;             // that some wait
};

}  // namespace heddle::collectives
