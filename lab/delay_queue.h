// DelayQueue: the frames of one direction of a delayed link, held for the link's propagation time.
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
  Bytes capacity;              // of frames held; one that does not fit is dropped and counted
  uint32_t largest_frame = 0;  // longer ones are dropped and counted
  Nanos late_after;            // a frame that leaves so long after its time counts as late
};

class DelayQueue {
 public:
  struct Counts {
    uint64_t packets = 0;  // that left
    uint64_t bytes = 0;
    uint64_t dropped = 0;  // found no room
    uint64_t late = 0;
    Nanos latest;  // how long after its time the latest frame left
  };

  explicit DelayQueue(const DelayQueueOptions& options);

  // Copies a frame that arrived at `arrival`. Frames leave in the order of these calls, whatever
  // their arrival times say. False: dropped.
  bool push(std::span<const uint8_t> frame, Nanos arrival);

  // The oldest frames whose time has come, at most `frames.size()`; returns how many. They stay
  // valid until pop().
  size_t due(Nanos now, std::span<std::span<const uint8_t>> frames) const;
  // The oldest `count` frames have left.
  void pop(size_t count, Nanos now);

  // When the oldest frame is due.
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
  size_t room_;  // of the ring: two frames more than the capacity, since none is split at its end
  std::unique_ptr<uint8_t[]> ring_;
  std::deque<Record> records_;
  size_t tail_ = 0;
  Bytes held_;
  Nanos last_due_;
  Counts counts_;
};

}  // namespace heddle::lab
