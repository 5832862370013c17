// Host clocks: processes of one host may be in different time namespaces, whose offsets the host
// knows exactly. Other hosts are compared with a single clock for each host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "events/events.h"
#include "insight/clocks.h"
#include "insight/party.h"

namespace heddle::insight {

// The clock with which a process stamps its events.
struct HostClock {
  std::string host;      // equal for processes whose clocks have exact offsets to each other
  int64_t ahead_ns = 0;  // offset of the process's time namespace from the host's clock
};
HostClock host_clock(const Identity& identity, uint32_t process);

// Returns the event with its time converted to the host's clock.
events::AnyEvent on_host_clock(events::AnyEvent event, int64_t ahead_ns);

// The clock of a process relative to its host's clock.
struct ClockOfProcess {
  std::string host;  // the host's name in output
  int64_t ahead_ns = 0;
  int64_t rank = -1;
};
// The same clock as a process has it whose time namespace is ahead of this one.
Clock in_namespace(Clock clock, int64_t ahead_ns);
// Splits the clocks of hosts into the clocks of their time namespaces. On the reference host, the
// namespace of the lowest rank becomes the reference.
Clocks apart(const Clocks& hosts, const std::vector<ClockOfProcess>& processes);

}  // namespace heddle::insight
