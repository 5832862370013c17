// The pacing rate that goes with a window: window / smoothed RTT with some room above, so that the
// window and not the pacer limits a connection. The gains are Linux's (sysctl tcp_pacing_ss_ratio
// 200 %, tcp_pacing_ca_ratio 120 %), the second raised to 125 % so that it is a shift.
#pragma once

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport {

// Zero (not paced) while no round trip has been measured.
constexpr BitsPerSec pacing_rate_of(Bytes window, Nanos smoothed_rtt, bool slow_start) {
  const uint64_t gained = slow_start ? window.count * 2 : window.count + window.count / 4;
  return rate_of(Bytes{gained}, smoothed_rtt);
}

}  // namespace heddle::transport
