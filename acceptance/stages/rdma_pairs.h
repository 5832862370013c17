// RDMA pairs: what RC queue pairs of the NICs reach between pairs of hosts that have RDMA, under
// the names that qperf has for these tests, beside the links' rates and heddle's figures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "acceptance/commands.h"
#include "acceptance/report.h"
#include "acceptance/session.h"
#include "acceptance/stages/plain_sockets.h"
#include "base/result.h"

namespace heddle::acceptance {

struct PairRdma {
  HostPair pair;
  double bits_per_s = 0;  // rc_bw, received
  double us = 0;          // rc_lat, one-way latency (RTT/2), median
  // Payload that its route carries at least, beside all others that may be on it; 0: no limit.
  double allowed_bits_per_s = 0;
  uint64_t changed_bytes = 0;    // of the payload
  double heddle_bits_per_s = 0;  // of the stage, by whatever datapath
  double heddle_us = 0;          // likewise
  bool software = false;         // a NIC of the two is emulated by its host's processors
  bool one_route = true;         // else its queue pair takes one of several
  std::string complaint;         // why there are no figures

  bool is_judged() const { return one_route && !software; }
};

// All pairs at once of which both hosts have RDMA; a figure below its expectation is measured
// again, and the best counts. Errors: kSystem.
Result<std::vector<PairRdma>> run_rdma(Session& session, const std::vector<HostPair>& pairs);

struct RdmaJudge {
  PairNames name_of;
  std::function<std::string(uint32_t host)> host_name;
  std::function<Grade(double reached, double expected)> grade;
  double share = 0;  // of what the links carry, that a pair must reach
};

// No rows without pairs. RDMA in software is shown and not judged: its rate is the processors'. So
// are pairs with several routes: an RC queue pair takes one of them by a hash, and others may too.
// A pair without figures fails where others of hardware have them; where none has, RC may not be
// meant to work, which is a warning. Payload that changed always fails.
std::vector<Row> rdma_rows(const RdmaJudge& judge, const std::vector<PairRdma>& pairs);

// Of its bandwidth; one that is not judged, or has no figure, is fine.
Grade rdma_grade(const RdmaJudge& judge, const PairRdma& pair);
// Whether a pair of hardware has figures; and whether rdma_rows() fails a pair beside such ones,
// for its bandwidth or for what else.
bool hardware_has_figures(const std::vector<PairRdma>& pairs);
bool rdma_failed(const RdmaJudge& judge, const PairRdma& pair, bool others_have_figures);

// Parts of run_rdma(), public for tests: what the routes of pairs that are measured at once allow;
// and the figures of a repeat, of which the best count, or why there are none.
void set_rdma_bounds(const topology::Topology& topology,
                     const std::function<IpVersion(uint32_t host)>& version_of_host,
                     std::vector<PairRdma>& pairs);
void take_rdma_figures(const CommandEnd& client, const CommandEnd& server, PairRdma& pair);

}  // namespace heddle::acceptance
