// Streams and events of the stand-in for the CUDA runtime: a stream is a thread that runs what was
// submitted to it in order, so work on it overlaps with the caller as on a GPU.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/thread.h"

namespace heddle::cuda_stand_in {

class Stream {
 public:
  // Null where the system allows no more threads.
  static std::unique_ptr<Stream> create();
  ~Stream();  // finishes what was submitted

  void submit(std::function<void()> work);
  void synchronize();  // returns when everything submitted before the call has run

 private:
  Stream() = default;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  uint64_t submitted_ = 0;
  uint64_t finished_ = 0;
  bool closing_ = false;
  Thread thread_;
};

// The latest point in a stream at which the event was recorded. An event outlives its handle while
// a stream still refers to it, so it is held by std::shared_ptr.
class Event : public std::enable_shared_from_this<Event> {
 public:
  void record(Stream& stream);
  void wait_on(Stream& stream);  // later work of `stream` waits for the latest record()
  bool reached();                // true for an event that was never recorded
  void synchronize();

 private:
  void wait_until(uint64_t number);

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t recorded_ = 0;
  uint64_t reached_ = 0;
};

}  // namespace heddle::cuda_stand_in
