// WorkerThread: a thread that does one piece of work at a time and sleeps on a condition variable
// between them, as NCCL's proxy threads do. The drive has two: service and progress.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/result.h"
#include "base/thread.h"

namespace heddle::nccl {

class WorkerThread {
 public:
  // Errors: those of start_thread().
  static Result<std::unique_ptr<WorkerThread>> start(const char* name);
  // Waits for the work in hand.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // One thread posts and waits; the next piece only after wait() has given the result of the last.
  void post(std::function<Result<void>()> work);
  // The result of the work in hand, or nothing if it is not finished after `most`.
  std::optional<Result<void>> wait(Nanos most);
  // post(), and wait() to the end.
  Result<void> call(std::function<Result<void>()> work);

 private:
  WorkerThread() = default;
  void loop();

  OwnMutex mutex_;
  std::condition_variable changed_;
  std::function<Result<void>()> work_;
  std::optional<Result<void>> result_;
  bool ends_ = false;
  Thread thread_;
};

}  // namespace heddle::nccl
