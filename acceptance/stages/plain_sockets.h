// Plain sockets: rows of what TCP and UDP of the kernel reach between pairs, under the names that
// qperf has for these tests, beside heddle's figures. They inform: a fabric is judged by heddle's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "acceptance/fabric_bounds.h"
#include "acceptance/report.h"
#include "acceptance/stages/flows.h"

namespace heddle::acceptance {

struct PairSockets {
  HostPair pair;
  SocketResult sockets;
  double heddle_bits_per_s = 0;
  double heddle_us = 0;  // one-way latency (RTT/2), median
};

using PairNames = std::function<std::string(const HostPair& pair)>;

std::vector<Row> socket_rows(const PairNames& name_of, const std::vector<PairSockets>& pairs);

}  // namespace heddle::acceptance
