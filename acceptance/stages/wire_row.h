// Wire row: what hosts' ports sent while all-reduces ran, judged by what these need and by the
// ports' rates. A pure function; the stage collectives uses it.
#pragma once

#include <string>

#include "acceptance/report.h"
#include "acceptance/stages/recorded_all_reduce.h"

namespace heddle::acceptance {

struct WireNeeds {
  double bus_bits_per_s = 0;    // that the largest all-reduce reached
  double least_bits_per_s = 0;  // that it is expected to reach; 0: no limit is known
};

// Each host sends the bus bandwidth, with headers on top of it. Ports that count less than that do
// not count what was sent, as of RDMA: then the row is for information.
Row wire_row(const std::string& where, const HostRates& wire, const WireNeeds& needs);

}  // namespace heddle::acceptance
