// AckRules: when packets are acknowledged, as decision tables. A sender flags its packets by them,
// a receiver decides by them how long an acknowledgement may wait for others.
// docs/explanation/protocol.md shows the tables. AckManager applies the receiver's half.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/recovery/params.h"

namespace heddle::transport {

class AckRules {
 public:
  // Of recovery/params.h, which says what they are.
  static constexpr Nanos kDelay = params::ack_rules::kDelay;
  static constexpr Nanos kControlDelay = params::ack_rules::kControlDelay;
  static constexpr Nanos kLongestDelayWithin = params::ack_rules::kLongestDelayWithin;
  static constexpr Nanos kPromptAfterGap = params::ack_rules::kPromptAfterGap;
  static constexpr uint64_t kBytes = params::ack_rules::kBytes;
  static constexpr uint32_t kArrivals = params::ack_rules::kArrivals;
  static constexpr uint32_t kLargeMessage = params::ack_rules::kLargeMessage;
  static constexpr uint32_t kMostDeferred = params::ack_rules::kMostDeferred;

  // --- the sender ---
  // What is true of a burst of payload.
  struct Burst {
    bool retransmission = false;
    bool window_ends = false;  // or as much left without a request as makes one overdue
    bool ends_message = false;
    bool large_message = false;
    bool deferred = false;     // the application does not wait for the acknowledgement
    bool rest_leaves = false;  // the rest of the message may leave without an acknowledgement
  };
  enum class Request : uint8_t { kNone, kNow, kLater };
  static Request request_for(const Burst& burst);

  // --- the receiver ---
  // What is true of packets that arrived, as bits.
  enum Fact : uint32_t {
    kRequested = 1u << 0,     // flag 1
    kOvertaken = 1u << 1,     // deferred, and left before a packet that requested one and is here
    kOutOfOrder = 1u << 2,    // they make or fill a gap
    kMarked = 1u << 3,        // congestion experienced
    kCompletes = 1u << 4,     // the last missing bytes of a large message
    kManyDeferred = 1u << 5,  // kMostDeferred wait
    kManyBytes = 1u << 6,     // kBytes of kArrivals wait
    kControl = 1u << 7,       // no payload
    kAfterGap = 1u << 8,      // within kPromptAfterGap
    kWithin = 1u << 9,        // payload before the end of its message
    kDeferred = 1u << 10,     // flag 8
  };
  // Any of these makes an acknowledgement due at once: the first row of the table.
  static constexpr uint32_t kAtOnce =
      kRequested | kOvertaken | kOutOfOrder | kMarked | kCompletes | kManyDeferred | kManyBytes;
  // How long their acknowledgement may wait. `round_trip`: smoothed; zero: never measured.
  static Nanos delay(uint32_t facts, Nanos round_trip) {
    return (facts & kAtOnce) != 0 ? Nanos{} : delay_of_others(facts, round_trip);
  }

  // --- grants, which an acknowledgement may take along ---
  struct Grant {
    bool small = false;    // its message may travel ahead of it
    bool crowded = false;  // many messages came ahead: their sender may wait for grants
    bool heard = false;    // its message has arrived, or begun to
  };
  // When it leaves at the latest. `ack_at`: when the next acknowledgement is due; never(): none
  // waits.
  static Nanos grant_at(Nanos now, const Grant& grant, Nanos ack_at);

 private:
  static Nanos delay_of_others(uint32_t facts, Nanos round_trip);
};

}  // namespace heddle::transport
