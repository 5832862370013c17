// ArrivalRate: estimates the highest rate at which payload can arrive at an endpoint, which is the
// rate of the bottleneck before it. CreditSource reports arrivals and the ends of rounds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/credits/params.h"

namespace heddle::transport {

class ArrivalRate {
 public:
  // The second highest rate of a round within the last 5 to 10 s, of the rounds in which senders
  // waited for credit; zero: not known yet. A shorter span could contain only rounds in which other
  // traffic used part of the link.
  BitsPerSec estimate() const { return std::max(second_, second_before_); }

  void begin_round(Nanos now) {
    began_at_ = now;
    bytes_ = 0;
  }
  void add(uint64_t bytes) { bytes_ += bytes; }
  Nanos began_at() const { return began_at_; }

  // Ends a round and returns its rate. A round in which no sender waited for credit does not count
  // for estimate().
  BitsPerSec end_round(Nanos now, bool credit_was_short) {
    if (credit_was_short && now - half_began_ > kHalf) {
      half_began_ = now;
      second_before_ = second_;
      first_ = second_ = {};
    }
    const BitsPerSec rate = rate_of({bytes_}, now - began_at_);
    second_ = std::max(second_, std::min(first_, rate));
    first_ = std::max(first_, rate);
    begin_round(now);
    return rate;
  }

 private:
  static constexpr Nanos kHalf = params::credits::kRateHalf;

  BitsPerSec first_;
  BitsPerSec second_;
  BitsPerSec second_before_;
  Nanos half_began_;
  Nanos began_at_;
  uint64_t bytes_ = 0;
};

}  // namespace heddle::transport
