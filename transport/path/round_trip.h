// Round trips: what they look like on one path (TripEstimate, 12 bytes, since there is one for each
// path) and over all paths of a connection (RoundTrip), in integer nanoseconds (RFC 6298, RFC 9002
// section 5). Samples are of the network only; the time a segment spends in the receiving host is
// passed in beside them.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"

namespace heddle::transport {

class TripEstimate {
 public:
  // Adds a sample of the network's part, cut to [1 ns, 4.29 s].
  void add(Nanos sample);

  bool measured() const { return smoothed_ != 0; }
  Nanos smoothed() const { return {smoothed_}; }  // zero: never measured
  Nanos variation() const { return {variation_}; }
  Nanos latest() const { return {latest_}; }

 private:
  uint32_t smoothed_ = 0;  // ns, as all below
  uint32_t variation_ = 0;
  uint32_t latest_ = 0;
};

class RoundTrip {
 public:
  static constexpr Nanos kWindow = params::round_trip::kWindow;
  static constexpr Nanos kSlackLeast = params::round_trip::kSlackLeast;
  static constexpr Nanos kTimeoutUnmeasured = params::round_trip::kTimeoutUnmeasured;

  // Adds a sample: `sample` is the network's part, cut to [1 ns, 4.29 s]; `held` is what the peer
  // took from receipt to acknowledgement, cut to [0, 4.29 s]. `now` never goes backwards.
  // `paths`: how many take turns in giving samples.
  void add(Nanos now, Nanos sample, Nanos held = {}, uint32_t paths = 1);

  bool measured() const { return trip_.measured(); }
  Nanos smoothed() const { return trip_.smoothed(); }  // zero: never measured
  Nanos variation() const { return trip_.variation(); }
  Nanos latest() const { return trip_.latest(); }
  Nanos minimum() const;

  // How long to wait for an acknowledgement before a probe is due:
  //   smoothed + max(4 x variation, kSlackLeast) + the longest hold lately seen (a maximum that
  //   decays by a sixteenth a sample of each path), which stands where RFC 9002 section 6.2.1 has
  //   the peer's max_ack_delay. On a host with more spinning threads than cores a wake-up was seen
  //   7 ms late at the 99.9th percentile: a fixed allowance would be too long for all others and
  //   too short there.
  Nanos probe_timeout() const { return probe_timeout(trip_); }
  // On one of its paths, to the same host. A path that was never measured takes the estimate of all
  // paths, and it may take twice as long.
  Nanos probe_timeout(const TripEstimate& path) const;

 private:
  TripEstimate trip_;
  uint32_t held_ = 0;                     // ns, as all below
  uint32_t minimum_now_ = UINT32_MAX;     // since half_began_
  uint32_t minimum_before_ = UINT32_MAX;  // in the half window before
  Nanos half_began_;
};

static_assert(sizeof(TripEstimate) == 12);
static_assert(sizeof(RoundTrip) <= 40);

}  // namespace heddle::transport
