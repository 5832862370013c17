// Link: one direction of a cable with the queue in front of it. Packets leave in order, each after
// the one before it at the link's rate, and arrive after the propagation delay. All times are
// exact: serialisation is rounded up to a nanosecond for each packet. It draws random numbers from
// a generator handed in; faults are the network's matter.
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
  uint64_t packets = 0;  // that began their way
  uint64_t bytes = 0;    // with all framing; without what was cut off in the queue
  uint64_t queue_drops = 0;
  uint64_t trims = 0;  // packets that went on as headers
  uint64_t marks = 0;
  uint64_t queued_bytes_max = 0;
  uint64_t pauses = 0;  // that its sender was asked for, and obeyed
  Nanos paused_time;    // all together
};

// Whether a capable packet that finds so much waiting, more than the threshold, is marked.
bool draws_mark(const topology::LinkShape& shape, uint64_t queued_bytes, Random& random);

class alignas(64) Link {
 public:
  // kTrimmed: taken as a header; only switches do that.
  enum class Verdict : uint8_t { kTaken, kDown, kFull, kTrimmed };

  explicit Link(const topology::LinkShape& shape) : shape_(shape) {}

  const topology::LinkShape& shape() const { return shape_; }
  LinkCounters counters() const;
  bool down() const { return down_; }

  // Puts a packet behind those that wait, and marks it if it is capable and finds too many of them.
  // Only kTaken takes it. `unbounded`: the queue is the sender's own and pushes back instead.
  // `random` is for a ramp of marks.
  Verdict offer(Nanos now, PacketId id, PacketStore& packets, bool unbounded, Random& random);

  // The next packet to arrive; kNoIndex if none is under way.
  PacketId next_packet() const { return passing_.empty() ? kNoIndex : passing_.front().packet; }
  // When it arrives; never() if none does.
  Nanos next_at() const { return next_at_; }
  // When the last packet has left.
  Nanos free_at() const { return free_at_; }
  // Takes the packet whose arrival is due now.
  PacketId pop(Nanos now);

  // Bytes that have not left completely, framing included.
  uint64_t queued_bytes(Nanos now) {
    advance(now);
    return queued_bytes_;
  }
  // Bytes that have left so far, of the packet that is being sent its part.
  uint64_t carried_bytes(Nanos now);
  // The most that the queue held since it was asked last.
  uint64_t take_queue_peak(Nanos now);
  // When no more than `bytes` of what now waits will be left.
  Nanos drained_to(Nanos now, uint64_t bytes);

  // The packet that is being sent keeps its time.
  void set_rate(Nanos now, BitsPerSec rate);
  // Down: the packets under way and in the queue are appended to `cut_off`; they are the caller's
  // to give back.
  void set_down(Nanos now, std::vector<PacketId>& cut_off);
  void set_up() { down_ = false; }

 private:
  // A packet on its way: it need not be looked at until it arrives.
  struct Passing {
    Nanos departs_at;  // its last bit
    PacketId packet = kNoIndex;
    uint32_t bytes = 0;
  };

  // Those of LinkCounters that every link needs.
  struct Counts {
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint64_t queue_drops = 0;
    uint64_t marks = 0;
    uint64_t queued_bytes_max = 0;  // since take_queue_peak()
  };

  void advance(Nanos now);
  Nanos serialisation(uint32_t wire_bytes);

  // What every packet needs stands first.
  Nanos next_at_ = Nanos::never();
  Nanos free_at_;              // when the last packet has left
  Ring<Passing> passing_;      // in order of arrival
  size_t left_ = 0;            // of them have left completely
  uint64_t queued_bytes_ = 0;  // of the others
  uint32_t memo_bytes_ = 0;    // the latest serialisation time, since most packets have one size
  bool down_ = false;
  Nanos memo_time_;
  topology::LinkShape shape_;
  Counts counters_;
  uint64_t queued_earlier_max_ = 0;  // before take_queue_peak()
};

}  // namespace heddle::simulator
