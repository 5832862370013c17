// Link: one direction of a cable with the queue in front of it. Packets leave in order at the
// link's rate and arrive after the propagation delay. All times are exact: serialization time is
// rounded up to a nanosecond per packet. Random numbers come from the caller's generator; the
// network applies faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/units.h"
#include "simulator/packet.h"
#include "topology/topology.h"

namespace heddle::simulator {

struct LinkCounters {
  uint64_t packets = 0;  // that started transmission
  uint64_t bytes = 0;    // framing included; without packets cut off in the queue
  uint64_t queue_drops = 0;
  uint64_t trims = 0;  // packets that continued as headers
  uint64_t marks = 0;
  uint64_t queued_bytes_max = 0;
  uint64_t pauses = 0;  // pauses that its sender received and obeyed
  Nanos paused_time;    // total
};

// Whether an ECN-capable packet that finds `queued_bytes`, above the threshold, is marked.
bool draws_mark(const topology::LinkShape& shape, uint64_t queued_bytes, Random& random);

class alignas(64) Link {
 public:
  // kTrimmed: accepted as a header; only switches do that.
  enum class Verdict : uint8_t { kTaken, kDown, kFull, kTrimmed };

  explicit Link(const topology::LinkShape& shape) : shape_(shape) {}

  const topology::LinkShape& shape() const { return shape_; }
  LinkCounters counters() const;
  bool down() const { return down_; }

  // Appends a packet to the queue and marks it if it is ECN-capable and the queue is too long. Only
  // kTaken takes ownership. `unbounded`: the queue is inside the sender, which applies
  // back-pressure itself. `random` is used by a marking ramp.
  Verdict offer(Nanos now, PacketId id, PacketStore& packets, bool unbounded, Random& random);

  // The next packet to arrive; kNoIndex if none is in flight.
  PacketId next_packet() const { return passing_.empty() ? kNoIndex : passing_.front().packet; }
  // Its arrival time; never() if none is in flight.
  Nanos next_at() const { return next_at_; }
  // When the last packet has left.
  Nanos free_at() const { return free_at_; }
  // Takes the packet that arrives now.
  PacketId pop(Nanos now);

  // Bytes that have not left completely, framing included.
  uint64_t queued_bytes(Nanos now) {
    advance(now);
    return queued_bytes_;
  }
  // Bytes that have left so far, including the sent part of the current packet.
  uint64_t carried_bytes(Nanos now);
  // The maximum queue length since the last call.
  uint64_t take_queue_peak(Nanos now);
  // When at most `bytes` of the current queue remain.
  Nanos drained_to(Nanos now, uint64_t bytes);

  // The packet in transmission keeps its departure time.
  void set_rate(Nanos now, BitsPerSec rate);
  // Link failure: appends packets in flight and in the queue to `cut_off`; the caller returns them
  // to the store.
  void set_down(Nanos now, std::vector<PacketId>& cut_off);
  void set_up() { down_ = false; }

 private:
  // A packet in transit: it needs no event until it arrives.
  struct Passing {
    Nanos departs_at;  // of its last bit
    PacketId packet = kNoIndex;
    uint32_t bytes = 0;
  };

  // The counters that every link needs.
  struct Counts {
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint64_t queue_drops = 0;
    uint64_t marks = 0;
    uint64_t queued_bytes_max = 0;  // since take_queue_peak()
  };

  void advance(Nanos now);
  Nanos serialisation(uint32_t wire_bytes);

  // Fields that every packet needs come first.
  Nanos next_at_ = Nanos::never();
  Nanos free_at_;              // when the last packet has left
  Ring<Passing> passing_;      // in arrival order
  size_t left_ = 0;            // number of them that have left completely
  uint64_t queued_bytes_ = 0;  // of the others
  uint32_t memo_bytes_ = 0;  // latest serialization time, cached because most packets have one size
  bool down_ = false;
  Nanos memo_time_;
  topology::LinkShape shape_;
  Counts counters_;
  uint64_t queued_earlier_max_ = 0;  // before take_queue_peak()
};

}  // namespace heddle::simulator
