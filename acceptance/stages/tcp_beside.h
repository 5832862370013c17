// TCP beside heddle, for information: what connections of plain sockets reach between the hosts of
// an all-reduce's ring, and in the loads of the stage stress, all of a load at once; and the
// latency of two hosts beside the incast. The stages collectives and stress show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "acceptance/stages/flows.h"
#include "base/result.h"

namespace heddle::acceptance {

struct TcpFlows {
  std::vector<double> bits_per_s;  // of payload, of each pair, in no order
  std::string complaint;           // why one has no figure
  SocketResult bystander = {};     // of two hosts beside them, if they were asked for

  double sum() const;
  double least() const;
};

// Each host to the next one, all at once: a ring all-reduce is as slow as its slowest connection.
// Adds a row and data. Errors: kSystem.
Result<void> add_tcp_ring(Session& session, double heddle_bits_per_s, StageReport& report);
// A load of the stage stress: how rows and the stage's data call it, its flows, and what they reach
// over heddle.
struct TcpLoad {
  std::string check;  // "all-to-all"
  std::string data;   // "all_to_all"
  std::vector<HostPair> pairs;
  double heddle_bits_per_s = 0;  // of all flows together
  bool as_slowest = false;       // it ends with its slowest flow, and heddle's flows are even
  // Two hosts whose latency over TCP is measured beside it, and theirs at p99 beside heddle's
  // flows; 0: no figure.
  std::optional<HostPair> bystander = {};
  double heddle_us_p99 = 0;
};

// The same flows over TCP: adds a row, one of the bystander if there is one, and TCP's figures to
// the data of the load. Of more than params::kMostTcpFlows the row says that they are not measured.
// Errors: kSystem.
Result<void> add_tcp_load(Session& session, const TcpLoad& load, StageReport& report);

// Public for tests.
Row tcp_ring_row(const std::string& where, const TcpFlows& flows, double heddle_bits_per_s);
Row tcp_load_row(const TcpLoad& load, const TcpFlows& flows);
Row tcp_bystander_row(const std::string& where, const SocketResult& tcp, double heddle_us_p99);

}  // namespace heddle::acceptance
