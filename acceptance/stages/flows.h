// Flows: bandwidth and latency of pairs of hosts that measure at once, by `heddle perf`, and by
// plain sockets. The stages pairs and stress use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/session.h"
#include "base/result.h"
#include "lab/socket_tests.h"

namespace heddle::acceptance {

struct PathFigures {
  uint32_t path = 0;
  double bits_per_s = 0;  // of payload that was sent
  double rtt_us = 0;      // smoothed; 0: no figure
  uint64_t lost_segments = 0;
};

struct FlowFigures {
  HostPair pair;
  double bits_per_s = 0;  // of payload
  uint64_t segments = 0;
  uint64_t retransmitted = 0;
  uint64_t marked = 0;  // by ECN, as the receiver reports
  std::vector<PathFigures> paths;
  std::string complaint;  // why there is no figure
};

struct LatencyFigures {
  HostPair pair;
  double us_min = 0;  // one-way latency (RTT/2)
  double us_p50 = 0;
  double us_p99 = 0;
  std::string complaint;
};

// As lab::SocketFigures: 0 where a test has no figure.
struct SocketResult {
  double tcp_bits_per_s = 0;
  double tcp_us = 0;
  double tcp_us_p99 = 0;
  double udp_sent_bits_per_s = 0;
  double udp_received_bits_per_s = 0;
  double udp_us = 0;
  double udp_offered_bits_per_s = 0;  // 0: as much as the host can send
  std::string complaint;              // why there are no figures
};

// Starts `heddle perf … bw` for a pair, at a time as Commands::start() takes it. Errors: kSystem.
Result<Commands::Id> start_flow(Session& session, const HostPair& pair, Nanos span, Nanos start_at);
FlowFigures flow_figures(Session& session, const HostPair& pair, Commands::Id id);
Result<Commands::Id> start_latency(Session& session, const HostPair& pair, Nanos span,
                                   Nanos start_at);
LatencyFigures latency_figures(Session& session, const HostPair& pair, Commands::Id id);

// Starts both ends of tests of plain sockets (lab/socket_tests.h), the client's at a time as
// Commands::start() takes it; and what they found. Errors: kSystem.
struct SocketEnds {
  Commands::Id server = 0;
  Commands::Id client = 0;
};
Result<SocketEnds> start_sockets(Session& session, const HostPair& pair,
                                 const lab::SocketPlan& plan, Nanos start_at);
SocketResult socket_result(Session& session, const SocketEnds& ends);

// What to do about a pair below what it should have.
std::string todo_of_slow_pair(const Session& session);

// All flows at once, to their end.
Result<std::vector<FlowFigures>> run_flows(Session& session, const std::vector<HostPair>& pairs,
                                           Nanos span);
// The same, and again where a pair has no figure or less than it should have of what its links
// allow (0: no limit): the best of each pair.
Result<std::vector<FlowFigures>> run_flows_again(Session& session,
                                                 const std::vector<HostPair>& pairs,
                                                 const std::vector<double>& allowed);
Result<std::vector<LatencyFigures>> run_latencies(Session& session,
                                                  const std::vector<HostPair>& pairs, Nanos span);
// Plain sockets of all pairs, each test at the same time. A pair's UDP is offered at the rate that
// the links carry of it beside the others.
Result<std::vector<SocketResult>> run_sockets(Session& session, const std::vector<HostPair>& pairs);

}  // namespace heddle::acceptance
