// SimulatedProbe: the active test that confirms a fault before an action, as
// examples/steering/probe.py makes it, of a simulated job's hosts and links: it measures their
// state at its time, with the job's noise, and is wrong in a share of its runs on top of that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/diagnosis/draw.h"
#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"
#include "bench/diagnosis/stream_network.h"
#include "launch/background_command.h"

namespace heddle::bench {

struct TestOptions {
  double wrong = 0;  // share of its runs that end with the other result
  // Share of jobs that hang whose host hangs; of the others the process alone does, and a test of
  // the host finds nothing.
  double sees_hangs = 1;
  double host_s = 3;  // for each of the two hosts that it measures
};

class SimulatedProbe {
 public:
  // Both outlive it.
  SimulatedProbe(const FaultCase& job, const ObservedJob& observed, const TestOptions& options);

  struct Run {
    launch::CommandResult result;
    int64_t took_ns = 0;
  };
  // Words: a name, then "compute" or "network", a host and its peer, or "link" and its two hosts.
  Run run(const std::vector<std::string>& words, int64_t at_ns);

 private:
  double compute_s(uint32_t host, int64_t at_ns);
  double network_s(uint32_t host, int64_t at_ns);
  double link_s(uint32_t from, uint32_t to, int64_t at_ns);
  double transfer_s(uint32_t from_rank, uint32_t to_rank, int64_t at_ns);
  bool hangs(uint32_t host, int64_t at_ns) const;
  double slowness(uint32_t rank, int64_t at_ns) const;
  Run compare(double host_s, double peer_s);

  const FaultCase& job_;
  const ObservedJob& observed_;
  TestOptions options_;
  Computation computation_;
  StreamNetwork network_;
  Random random_;
  bool host_hangs_ = false;
  std::vector<int64_t> steps_ns_;  // when the rank with the fault began each step
  uint64_t messages_ = 0;
};

}  // namespace heddle::bench
