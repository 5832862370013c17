// WorkerThread: see worker_thread.h.
#include "nccl/drive/worker_thread.h"

#include <chrono>
#include <utility>

namespace heddle::nccl {

Result<std::unique_ptr<WorkerThread>> WorkerThread::start(const char* name) {
  std::unique_ptr<WorkerThread> made(new WorkerThread);
  Result<Thread> thread = start_thread(name, [worker = made.get()] { worker->loop(); });
  if (!thread) return fail(thread.error());
  made->thread_ = *std::move(thread);
  return made;
}

WorkerThread::~WorkerThread() {
  if (!thread_.joinable()) return;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkerThread::post(std::function<Result<void>()> work) {
  {
    const OwnMutex::Lock lock = mutex_.lock();
    work_ = std::move(work);
    result_.reset();
  }
  changed_.notify_all();
}

std::optional<Result<void>> WorkerThread::wait(Nanos most) {
  OwnMutex::Lock lock = mutex_.lock();
  changed_.wait_for(lock, std::chrono::nanoseconds(most.count),
                    [this] { return result_.has_value(); });
  return std::exchange(result_, std::nullopt);
}

Result<void> WorkerThread::call(std::function<Result<void>()> work) {
  post(std::move(work));
  while (true) {
    if (std::optional<Result<void>> result = wait(seconds(3'600))) return *std::move(result);
  }
}

void WorkerThread::loop() {
  OwnMutex::Lock lock = mutex_.lock();
  while (true) {
    changed_.wait(lock, [this] { return work_ != nullptr || ends_; });
    if (work_ == nullptr) return;
    const std::function<Result<void>()> work = std::exchange(work_, nullptr);
    lock.unlock();
    Result<void> result = work();
    lock.lock();
    result_ = std::move(result);
    changed_.notify_all();
  }
}

}  // namespace heddle::nccl
