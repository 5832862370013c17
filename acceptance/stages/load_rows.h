// Load rows: judgement of what a load of the stage stress did to packets and to a bystander. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/stages/flows.h"
#include "base/nanos.h"

namespace heddle::acceptance {

struct LoadSegments {
  uint64_t sent = 0;  // with retransmissions, of all flows
  uint64_t retransmitted = 0;
  uint64_t marked = 0;  // by ECN, as receivers report

  LoadSegments& operator+=(const LoadSegments& more) {
    sent += more.sent;
    retransmitted += more.retransmitted;
    marked += more.marked;
    return *this;
  }
};

// Of flows that share no host's link, so that a healthy fabric drops few. `load`: "permutation".
Row retransmission_row(const std::string& load, size_t flows, const LoadSegments& segments,
                       uint32_t most_per_million);

// Of flows that share hosts' links, for information. They fill queues whatever the fabric is: the
// fewer packets one holds for each sender, the more are dropped while the link stays full. The
// goodput and the bystander's latency show whether that hurts.
Row shown_retransmission_row(const std::string& load, size_t flows, const LoadSegments& segments);

// ECN's marks of each load by its name, as heddle's receivers saw them, whatever the fabric is.
Row received_marks_row(size_t hosts,
                       const std::vector<std::pair<std::string, LoadSegments>>& loads);

// What heddle does not see of switches that are no lab's.
Row switch_ports_row(size_t hosts);

// Of a load that takes three hosts, on fewer.
Row too_few_hosts_row(const std::string& check, size_t hosts);

// The most that two hosts beside the incast may need at p99, of which the queues on their route
// take `queues`: hosts of an emulated fabric share processors and add kHostTime, machines add
// kIdleLatencies times their p99 on the idle fabric. None where that has no figure.
std::optional<Nanos> most_bystander_latency(Nanos queues, const LatencyFigures& idle,
                                            bool is_emulated);

// Of these hosts; without `most` they are shown and not judged. `idle` may have no figure.
Row bystander_row(const std::string& where, const LatencyFigures& victim,
                  const LatencyFigures& idle, std::optional<Nanos> most);

}  // namespace heddle::acceptance
