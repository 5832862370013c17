// Live figures: what an acceptance test that runs has found so far. acceptance.cc and Session write
// them, and another thread may take a snapshot at any time; live_families.h shows one as metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/fabric_bounds.h"
#include "acceptance/link_verdicts.h"
#include "acceptance/report.h"
#include "acceptance/run_counts.h"
#include "base/nanos.h"
#include "topology/topology.h"

namespace heddle::acceptance {

struct LiveStage {
  std::string name;
  bool running = false;
  StageOutcome outcome = StageOutcome::kNotRun;
  double seconds = 0;              // so far
  std::map<Grade, size_t> checks;  // rows; none before it has ended
  std::optional<Grade> grade;      // of one that has ended
};

// One direction of a link.
struct LiveLink {
  std::string from;
  std::string to;
  std::string label;
  double rate_bits_per_s = 0;     // 0: unlimited
  double offered_bits_per_s = 0;  // most that the stage pairs brings to it; 0: nothing
  LinkLoad load;                  // since the test began; never less than before
  bool counted = true;            // false: nothing reads its counters
};

struct LiveLatency {
  double us_p50 = 0;  // one-way latency (RTT/2); 0: no figure
  double us_p99 = 0;
};

struct LivePair {
  double goodput_bits_per_s = 0;
  double allowed_bits_per_s = 0;  // 0: no limit
  double retransmitted_share = 0;
  LiveLatency latency;  // on the idle fabric
};

// A path of a pair while its goodput was measured.
struct LivePath {
  double goodput_bits_per_s = 0;
  double rtt_us = 0;  // smoothed; 0: no figure
  double lost_segments = 0;
};

// A NIC of a host, or an RDMA port: what it counted since the test began, never less than before.
struct LiveNic {
  bool is_rdma = false;
  std::map<std::string, uint64_t> counts;  // by the kernel's names
  std::optional<bool> carrier;
};

struct LiveAllReduce {
  double bus_bits_per_s = 0;
  double bound_bits_per_s = 0;  // 0: no limit
};

using FromTo = std::pair<std::string, std::string>;
using HostDevice = std::pair<std::string, std::string>;

struct LiveSnapshot {
  std::string fabric;
  std::vector<LiveStage> stages;  // those chosen, in order
  std::vector<LiveLink> links;    // both directions of each
  std::map<HostDevice, LiveNic> nics;
  std::map<FromTo, LivePair> pairs;
  std::map<std::pair<FromTo, uint32_t>, LivePath> paths;  // by pair and number
  std::map<uint64_t, LiveAllReduce> all_reduces;          // by bytes
  std::map<FromTo, LiveLatency> bystanders;               // beside an incast
  double others_busy_share = 0;                           // since the stage began
};

class LiveFigures {
 public:
  explicit LiveFigures(std::string fabric) { now_.fabric = std::move(fabric); }

  // `rounds` are those of the stage pairs.
  void begin(const topology::Topology& fabric, const std::vector<std::string>& stages,
             const std::vector<std::vector<HostPair>>& rounds);
  // One that was not chosen is added: the stage that runs after a failure.
  void begin_stage(const std::string& name);
  // Keeps what its data has, as documents.h writes it.
  void end_stage(const StageReport& report);
  // By link, since the test began; and the processors' time that other programs use.
  void set_loads(const std::vector<CarriedLoad>& totals, double others_busy_share);
  // Of hosts, as they are now: the first call has what later ones are counted from.
  void set_nics(const std::vector<PlaceCounts>& now);

  LiveSnapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  LiveSnapshot now_;
  std::map<HostDevice, std::map<std::string, uint64_t>> first_nics_;  // counts
  Nanos stage_start_;
};

}  // namespace heddle::acceptance
