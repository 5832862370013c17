// DelayQueue: holds the frames of one direction of a delayed link for the link's propagation time.
// Pure: time is an argument. The forwarder (forwarder.h) drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::lab {

struct DelayQueueOptions {
  Nanos delay;
  Bytes capacity;              // of held frames; a frame that does not fit is dropped and counted
  uint32_t largest_frame = 0;  // longer ones are dropped and counted
  Nanos late_after;            // a frame that leaves this long after its due time counts as late
};

class DelayQueue {
 public:
  struct Counts {
    uint64_t packets = 0;  // sent
    uint64_t bytes = 0;
    uint64_t dropped = 0;  // exceeded the capacity
    uint64_t late = 0;
    Nanos latest;  // how late the latest frame left
  };

  explicit DelayQueue(const DelayQueueOptions& options);

  // Copies a frame that arrived at `arrival`. Frames leave in the order of these calls, regardless
  // of their arrival times. Returns false if the frame was dropped.
  bool push(std::span<const uint8_t> frame, Nanos arrival);

  // Gets the oldest due frames, at most `frames.size()`; returns their number. They stay valid
  // until pop().
  size_t due(Nanos now, std::span<std::span<const uint8_t>> frames) const;
  // Removes the oldest `count` frames, which have been sent.
  void pop(size_t count, Nanos now);

  // The time at which the oldest frame is due.
  std::optional<Nanos> next_due() const;
  bool empty() const { return records_.empty(); }
  Bytes held() const { return held_; }
  const Counts& counts() const { return counts_; }

 private:
  struct Record {
    size_t at = 0;
    size_t bytes = 0;
    Nanos due;
  };

  DelayQueueOptions options_;
  size_t room_;  // of the ring: capacity and two frames, since no frame is split at its end
  std::unique_ptr<uint8_t[]> ring_;
  std::deque<Record> records_;
  size_t tail_ = 0;
  Bytes held_;
  Nanos last_due_;
  Counts counts_;
};

}  // namespace heddle::lab
