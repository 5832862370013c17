// Clocks of one host: namespaces of time offset them by what the host knows, so they stand to each
// other exactly, and for the others they are one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "events/events.h"
#include "insight/clocks.h"
#include "insight/party.h"

namespace heddle::insight {

// Whose clock a process's events are stamped with.
struct HostClock {
  std::string host;      // equal for all that stand to each other as their offsets say
  int64_t ahead_ns = 0;  // of the host's own, in its namespace of time
};
HostClock host_clock(const Identity& identity, uint32_t process);

// The event at the time of the host's own clock.
events::AnyEvent on_host_clock(events::AnyEvent event, int64_t ahead_ns);

// A process's clock, among those of its host.
struct ClockOfProcess {
  std::string host;  // as users know it
  int64_t ahead_ns = 0;
  int64_t rank = -1;
};
// Clocks of the namespaces out of those of the hosts; of the reference host, the lowest rank's is
// the reference.
Clocks apart(const Clocks& hosts, const std::vector<ClockOfProcess>& processes);

}  // namespace heddle::insight
