// EventWriters: several recorders of one recording, shared by all of NCCL's threads. A thread takes
// a free one for the time of one event and never waits: no lock, no system call (but what a
// recording does where a block of 64 KiB is full).
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "events/recording.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

class EventWriters {
 public:
  explicit constexpr EventWriters(Nanos (*clock)()) : clock_(clock) {}

  // Not at the same time as itself or close(); write() may run.
  void open(events::Recording& recording);
  // Waits for threads inside write(), at most the time of an event each.
  void close();

  // Records `make(now)`, an event of that time. Times of one writer are in order. False: dropped,
  // as all writers are busy or closed.
  template <typename Make>
  bool write(const Make& make) {
    // Threads begin at different places, so that they rarely meet.
    const auto thread = static_cast<uint64_t>(pthread_self());
    const uint64_t first = (thread >> 12) * 0x9E3779B97F4A7C15ULL >> 60;
    for (uint64_t i = 0; i < params::profiler::kWriters; ++i) {
      Writer& writer = writers_[(first + i) % params::profiler::kWriters];
      if (writer.busy.load(std::memory_order_relaxed)) continue;
      if (writer.busy.exchange(true, std::memory_order_acquire)) continue;
      const bool open = writer.recorder != nullptr;
      if (open) writer.recorder->on_any(make(clock_()));
      writer.busy.store(false, std::memory_order_release);
      return open;
    }
    return false;
  }

 private:
  struct alignas(64) Writer {
    std::atomic<bool> busy{false};
    std::unique_ptr<events::Recorder> recorder;
  };

  Nanos (*const clock_)();
  std::array<Writer, params::profiler::kWriters> writers_;
};

}  // namespace heddle::nccl
