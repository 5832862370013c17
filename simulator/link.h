// Link: one direction of a cable with the queue in front of it. Packets leave in order, each after
// the one before it at the link's rate, and arrive after the propagation delay. All times are
// exact: serialisation is rounded up to a nanosecond for each packet. It draws no random numbers;
// faults are the network's matter.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/packet.h"
#include "topology/topology.h"

namespace heddle::simulator {

struct LinkCounters {
  uint64_t packets = 0;  // that began their way
  uint64_t bytes = 0;    // with all framing
  uint64_t queue_drops = 0;
  uint64_t marks = 0;
  uint64_t queued_bytes_max = 0;
};

class Link {
 public:
  enum class Verdict : uint8_t { kTaken, kDown, kFull };

  explicit Link(const topology::LinkShape& shape) : shape_(shape) {}

  const topology::LinkShape& shape() const { return shape_; }
  const LinkCounters& counters() const { return counters_; }
  bool down() const { return down_; }

  // Puts a packet behind those that wait, and marks it if it is capable and finds too many of them.
  // Only kTaken takes it. `unbounded`: the queue is the sender's own and pushes back instead.
  Verdict offer(Nanos now, PacketId id, PacketStore& packets, bool unbounded);

  // When the next packet arrives; never() if none is under way.
  Nanos next_at() const { return next_at_; }
  // Takes the packet whose arrival is due now.
  PacketId pop(Nanos now, PacketStore& packets);

  // Bytes that have not left completely, framing included.
  uint64_t queued_bytes(Nanos now, const PacketStore& packets);
  // When no more than `bytes` of what now waits will be left.
  Nanos drained_to(Nanos now, uint64_t bytes, const PacketStore& packets);

  // The packet that is being sent keeps its time.
  void set_rate(Nanos now, BitsPerSec rate, PacketStore& packets);
  // Down: the packets under way and in the queue are the caller's to give back, linked by `next`
  // from the returned one on.
  PacketId set_down(Nanos now);
  void set_up() { down_ = false; }

 private:
  void advance(Nanos now, const PacketStore& packets);
  Nanos serialisation(uint32_t wire_bytes);

  topology::LinkShape shape_;
  LinkCounters counters_;
  PacketId head_ = kNoIndex;  // the next to arrive
  PacketId tail_ = kNoIndex;
  PacketId leaving_ = kNoIndex;  // the first that has not left completely
  uint64_t queued_bytes_ = 0;    // from `leaving_` on
  Nanos free_at_;                // when the last packet has left
  Nanos next_at_ = Nanos::never();
  uint32_t memo_bytes_ = 0;  // the latest serialisation time, since most packets have one size
  Nanos memo_time_;
  bool down_ = false;
};

}  // namespace heddle::simulator
