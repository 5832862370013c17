// The tables. In each, the first row that applies decides.
#include "transport/recovery/ack_rules.h"

#include <array>

namespace heddle::transport {
namespace {

using Request = AckRules::Request;

// What a delay depends on.
enum class Delay : uint8_t {
  kShort,
  kControl,
  kEighthOfRoundTrip,  // reported soon enough for a sender that paces by it
  kHalfRoundTrip,      // the sender's window holds the rest: it learns only of losses by it
};

struct ReceiverRow {
  uint32_t facts;  // that all hold
  Delay delay;
};

// Behind the row of AckRules::kAtOnce.
constexpr std::array kReceiver = {
    ReceiverRow{AckRules::kControl, Delay::kControl},
    ReceiverRow{AckRules::kAfterGap, Delay::kShort},
    ReceiverRow{AckRules::kWithin | AckRules::kDeferred, Delay::kHalfRoundTrip},
    ReceiverRow{AckRules::kWithin, Delay::kEighthOfRoundTrip},
    ReceiverRow{AckRules::kDeferred, Delay::kControl},
    ReceiverRow{0, Delay::kShort},
};

Nanos length_of(Delay delay, Nanos round_trip) {
  switch (delay) {
    case Delay::kShort:
      return AckRules::kDelay;
    case Delay::kControl:
      return AckRules::kControlDelay;
    case Delay::kEighthOfRoundTrip:
      return std::clamp(round_trip / 8, AckRules::kDelay, AckRules::kLongestDelayWithin);
    case Delay::kHalfRoundTrip:
      return std::clamp(round_trip / 2, 4 * AckRules::kDelay, AckRules::kLongestDelayWithin);
  }
  return {};
}

}  // namespace

Nanos AckRules::delay_of_others(uint32_t facts, Nanos round_trip) {
  const ReceiverRow* row = kReceiver.data();
  while ((facts & row->facts) != row->facts) ++row;
  return length_of(row->delay, round_trip);
}

AckRules::Request AckRules::request_for(const Burst& burst) {
  if (burst.retransmission || burst.window_ends) return Request::kNow;
  if (burst.ends_message && burst.deferred) return Request::kLater;
  if (burst.ends_message) return burst.large_message ? Request::kNow : Request::kNone;
  // Nothing waits for the acknowledgement of these bytes where the end of the message may leave
  // without it, and is acknowledged itself.
  const bool end_is_reported = burst.deferred || burst.large_message;
  return end_is_reported && burst.rest_leaves ? Request::kLater : Request::kNone;
}

// A grant of a small receive may wait for other frames: its message needs none to travel, only its
// sender needs one to know that it ended.
Nanos AckRules::grant_at(Nanos now, const Grant& grant, Nanos ack_at) {
  if (!grant.small) return now;
  if (grant.crowded) return now + kDelay;
  if (!grant.heard)
    return now + kControlDelay;  // the acknowledgement of its message takes it along
  return ack_at != Nanos::never() ? ack_at : now + kDelay;
}

}  // namespace heddle::transport
