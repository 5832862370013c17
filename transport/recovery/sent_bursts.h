// Sent packets: one SentBurst per burst, lent from a pool of the endpoint and kept in a list per
// path in the order of its packet numbers. The list matches acknowledgements with sent packets and
// finds lost segments: detect() by gaps, declare_lost() after timeouts and path failures,
// declare_one_lost() where a switch trimmed a packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/nanos.h"
#include "base/pool.h"
#include "events/events.h"
#include "transport/recovery/params.h"
#include "transport/recovery/reorder_window.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

// A frame that the peer must get, in the record of the packet that carried it.
struct ControlRecord {
  FrameType type = FrameType::kPing;
  uint8_t reason = 0;  // of a cancel or close
  uint16_t channel = 0;
  uint16_t count = 0;  // of a grant
  Sequence sequence;
  uint32_t capacity = 0;  // of a grant; the epoch of a fence, whose path is in `channel`
};

// The segments of one message in a burst.
struct DataRecord {
  uint32_t message = kNoIndex;  // slot of the sender; valid while `sequence` and `channel` agree
  Sequence sequence;
  uint32_t offset = 0;
  uint32_t step = 0;  // payload of each segment but the last
  uint32_t last = 0;
  uint16_t channel = 0;
  bool claimed = false;    // sent by the payload strategy, as one segment
  OriginalWrite original;  // retransmission of a chunk: the write that was lost; number 0: none
};

struct SentBurst {
  static constexpr size_t kMaxControl = params::kMaxControl;

  uint64_t first_number = 0;
  Nanos sent_at;
  Nanos overtaken_at;         // when a later number of the path was first acknowledged; 0: not yet
  uint64_t acked = 0;         // bit i: segment i
  uint64_t lost = 0;          // bit i: declared lost
  uint32_t next = kNoIndex;   // in the path's list
  uint32_t header_bytes = 0;  // of each segment; what counts as in flight is header and payload.
                              // Of a size probe: all its bytes
  uint8_t count = 1;          // segments, at most 64
  bool data = false;
  bool retransmission = false;
  bool sizes_path = false;  // a probe of the path's size
  bool asks = false;        // for an acknowledgement at once
  bool later = false;       // the peer may defer its acknowledgement
  uint8_t control_count = 0;
  uint8_t hop_limit = 0;  // above 0: a discovery probe; it does not count as in flight
  DataRecord record;      // of data
  std::array<ControlRecord, kMaxControl> control;  // where not

  bool in_flight() const { return (all() & ~acked & ~lost) != 0; }
  uint32_t probe_bytes() const { return sizes_path ? header_bytes : 0; }
  uint64_t all() const { return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }
  uint64_t last_number() const { return first_number + count - 1u; }
  // Payload and headers of `segments` segments from index `first`; nothing for control packets.
  uint64_t bytes(uint32_t first, uint32_t segments) const;
  // The byte range of segments [first, first + segments) in their message.
  uint32_t start_of(uint32_t first) const { return record.offset + first * record.step; }
  uint32_t end_of(uint32_t first, uint32_t segments) const {
    return first + segments == count ? start_of(count - 1u) + record.last
                                     : start_of(first + segments);
  }
};

using SentBurstPool = Pool<SentBurst>;  // of the endpoint
using SentPool = PoolShare<SentBurst>;  // what one connection may take of it

// Is notified of the outcome of segments [first, first + count) of a burst.
class SentBurstListener {
 public:
  virtual ~SentBurstListener() = default;
  // `was_lost`: they had been declared lost: the retransmission was spurious.
  virtual void on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) = 0;
  virtual void on_lost(const SentBurst& run, uint32_t first, uint32_t count,
                       events::LossCause cause) = 0;
};

// What one acknowledgement newly reported about a path.
struct AckOutcome {
  uint64_t acked_bytes = 0;  // newly, without segments declared lost before
  uint64_t spurious_segments = 0;
  uint64_t spurious_behind = 0;  // the largest distance of one behind the newest
  Nanos spurious_sent_at;
  Nanos newest_sent_at;  // of the newest newly acknowledged segment; meaningless unless any
  uint64_t newest_number = 0;
  bool any = false;
  bool in_time = false;  // any of them was not declared lost before
};

class SentList {
 public:
  void append(SentPool& pool, uint32_t index);

  // Takes a peer's ranges into account. Ranges must not name numbers that were never sent.
  AckOutcome acknowledge(SentPool& pool, Nanos now, const AckFrame& frame,
                         SentBurstListener& listener);

  // When a segment counts as overtaken for too long: `acked_sent_at` is the send time of the newest
  // that was just acknowledged; what was sent more than `stale` before it is lost.
  struct ReorderLimits {
    const ReorderWindow& window;
    Nanos stale;
    Nanos acked_sent_at;
  };
  // Declares what was overtaken for too long; returns when to look again, or never().
  Nanos detect(SentPool& pool, Nanos now, const ReorderLimits& limits, SentBurstListener& listener);

  // Declares this segment lost, unless it is acknowledged, lost already, or forgotten.
  void declare_one_lost(SentPool& pool, uint64_t number, events::LossCause cause,
                        SentBurstListener& listener);
  // Declares everything lost that is not acknowledged.
  void declare_lost(SentPool& pool, events::LossCause cause, SentBurstListener& listener);

  // Forgets what was lost before `horizon` (acknowledgements that late no longer matter).
  void forget_lost(SentPool& pool, Nanos horizon);
  bool remembers_lost() const { return lost_bursts_ > 0; }
  // Returns all records; no listener is called.
  void clear(SentPool& pool);

  // The oldest burst of which a segment is neither acknowledged nor declared lost; null: none.
  const SentBurst* oldest(const SentPool& pool) const;
  // Whether a burst in flight asked for an acknowledgement.
  bool any_asks(const SentPool& pool) const;
  // Of the newest record; never() if there is none.
  Nanos newest_sent_at(const SentPool& pool) const {
    return tail_ == kNoIndex ? Nanos::never() : pool[tail_].sent_at;
  }
  // Whether this number was sent, is not acknowledged, and is not forgotten.
  bool awaits(const SentPool& pool, uint64_t number) const;
  uint64_t next_number() const { return next_number_; }
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }
  uint32_t in_flight_segments() const { return in_flight_segments_; }  // control packets included
  uint64_t largest_acked() const {
    const uint64_t newest = next_number_ - 1;
    return newest - static_cast<uint32_t>(static_cast<uint32_t>(newest) - largest_acked_low_);
  }

 private:
  void settle(SentBurst& run, uint64_t fresh, AckOutcome& outcome, SentBurstListener& listener);
  void lose(SentBurst& run, uint64_t bits, events::LossCause cause, SentBurstListener& listener);
  uint32_t unlink(SentPool& pool, uint32_t previous, uint32_t index);

  uint64_t next_number_ = 1;
  uint32_t head_ = kNoIndex;
  uint32_t tail_ = kNoIndex;
  uint32_t in_flight_segments_ = 0;
  uint32_t in_flight_bytes_ = 0;
  uint32_t largest_acked_low_ = 0;  // its low bits: it is less than 2^32 below the next number
  uint32_t lost_bursts_ = 0;  // fully settled but remembered, to recognize spurious retransmissions
};
static_assert(sizeof(SentList) == 32);  // there is one a path

}  // namespace heddle::transport
