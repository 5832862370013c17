// ReplayPlan: a workload on real hosts, and which process does what of it: one for each rank of
// each job, and one for each host that has flows, in this order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::jobs {

struct ReplayOptions {
  std::string workload;
  std::string topology;  // a file; its hosts are all this machine
  std::string lab;
  uint32_t hosts = 0;  // above 0: this machine represents this number of hosts, h0, h1 and so on
  uint64_t seed = 1;   // of the workload's random choices
};

struct ReplayRole {
  uint32_t host = 0;
  std::optional<uint32_t> job;  // nothing: the flows of its host
  uint32_t rank = 0;            // of the job
};

struct ReplayPlan {
  topology::Topology topology;
  topology::Workload workload;
  std::optional<lab::Lab> lab;  // nothing: hosts are this machine, or where a launcher runs them
  std::vector<ReplayRole> roles;
  std::vector<std::optional<uint32_t>> flow_roles;  // of each host, if it has flows

  const std::string& host_name(const ReplayRole& role) const {
    return topology.hosts[role.host].name;
  }
};

// Errors: those of the files and of the lab; kInvalid for what real hosts cannot do: flows that
// another host's flows set off, links that are down from the start, more than kMostLocalRanks
// processes.
Result<ReplayPlan> plan_replay(const ReplayOptions& options);

// What every process does, for workloads that are there already.
Result<std::vector<ReplayRole>> roles_of(const topology::Workload& workload, uint32_t hosts);

}  // namespace heddle::jobs
