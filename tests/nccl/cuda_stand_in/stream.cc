// A stream's thread and queue, and the numbers by which an event counts its records.
#include "tests/nccl/cuda_stand_in/stream.h"

#include <algorithm>
#include <utility>

namespace heddle::cuda_stand_in {

std::unique_ptr<Stream> Stream::create() {
  std::unique_ptr<Stream> stream(new Stream);
  Result<Thread> thread = start_thread("cuda-stream", [raw = stream.get()] { raw->run(); });
  if (!thread.has_value()) return nullptr;
  stream->thread_ = std::move(*thread);
  return stream;
}

Stream::~Stream() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::submit(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    ++submitted_;
  }
  changed_.notify_all();
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_;
  changed_.wait(lock, [&] { return finished_ >= target; });
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
    ++finished_;
    changed_.notify_all();
  }
}

void Event::record(Stream& stream) {
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = ++recorded_;
  }
  stream.submit([self = shared_from_this(), number] {
    {
      std::lock_guard lock(self->mutex_);
      self->reached_ = std::max(self->reached_, number);
    }
    self->changed_.notify_all();
  });
}

void Event::wait_on(Stream& stream) {
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = recorded_;
  }
  stream.submit([self = shared_from_this(), number] { self->wait_until(number); });
}

bool Event::reached() {
  std::lock_guard lock(mutex_);
  return reached_ >= recorded_;
}

void Event::synchronize() {
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = recorded_;
  }
  wait_until(number);
}

void Event::wait_until(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= number; });
}

}  // namespace heddle::cuda_stand_in
