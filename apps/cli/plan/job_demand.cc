// Calls of jobs as bytes between hosts: see job_demand.h.
#include "apps/cli/plan/job_demand.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "collectives/event_names.h"
#include "collectives/tuning.h"
#include "insight/expected.h"
#include "jobs/fabric_tuning.h"
#include "simulator/flow_run.h"

namespace heddle::cli {
namespace {

using topology::Action;
using topology::Job;
using topology::JobCommunicator;

// That of simulated ranks (jobs/simulated_jobs.h), so that both choose alike.
collectives::Tuning tuning_of(const Job& job, const topology::Topology& topology) {
  std::vector<uint64_t> rates(topology.hosts.size());
  for (const topology::Link& link : topology.links) {
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind != topology::NodeKind::kNic) continue;
      rates[topology.nics[end.index].host] += link.shape.rate.count;
    }
  }
  uint64_t least = UINT64_MAX;
  for (const topology::JobRank& rank : job.ranks) least = std::min(least, rates[rank.host]);
  return jobs::fabric_tuning(job, {simulator::longest_round_trip(topology) / 2,
                                   simulator::FlowRunOptions().turn_time,
                                   {least}});
}

insight::CallShape shape_of(const Action& action, uint32_t size,
                            const collectives::Tuning& tuning) {
  insight::CallShape shape;
  shape.operation = static_cast<events::Operation>(action.call);
  shape.size = size;
  shape.root = action.root;
  shape.chunk_bytes = tuning.chunk_bytes;
  // Bytes are counted as elements of one byte; blocks are of whole ones.
  shape.type = events::ElementType::kUint8;
  shape.count = topology::in_blocks(action.call) ? (action.bytes + size - 1) / size : action.bytes;
  if (action.algorithm) {
    shape.algorithm = collectives::name_in_events(
        static_cast<collectives::Algorithm>(action.algorithm->algorithm));
    shape.group_ranks = action.algorithm->group_ranks;
  } else if (!topology::between_two(action.call)) {
    shape.algorithm = collectives::name_in_events(
        tuning.choose(static_cast<collectives::Collective>(action.call), size, action.bytes));
  }
  return shape;
}

// Calls with equal actions on one communicator send the same from each of its ranks.
class JobBytes {
 public:
  JobBytes(const Job& job, const topology::Topology& topology, HostBytes& bytes)
      : job_(job), tuning_(tuning_of(job, topology)), bytes_(bytes) {}

  void add(const topology::JobRank& rank, uint32_t number) {
    const topology::Program& program = job_.programs[rank.program];
    for (const Action& action : program.actions) {
      if (action.kind != topology::ActionKind::kCall) continue;
      const uint32_t index = rank.communicators[action.communicator];
      if (index == topology::JobRank::kNone) continue;
      const JobCommunicator& communicator = job_.communicators[index];
      add(action, communicator, rank_in(communicator, number), program.repeat);
    }
  }

 private:
  static uint32_t rank_in(const JobCommunicator& communicator, uint32_t rank) {
    const auto found = std::find(communicator.ranks.begin(), communicator.ranks.end(), rank);
    return static_cast<uint32_t>(found - communicator.ranks.begin());
  }

  void add(const Action& action, const JobCommunicator& communicator, uint32_t rank,
           uint32_t repeat) {
    const auto size = static_cast<uint32_t>(communicator.ranks.size());
    const std::optional<std::vector<insight::Share>> sends =
        insight::expected_sends(shape_of(action, size, tuning_), rank);
    if (!sends) return;
    const uint32_t from = host_of(communicator, rank);
    for (const insight::Share& send : *sends) {
      const uint32_t to = host_of(communicator, send.peer);
      if (from != to && send.bytes > 0) bytes_[{from, to}] += send.bytes * repeat;
    }
  }
  uint32_t host_of(const JobCommunicator& communicator, uint32_t rank) const {
    return job_.ranks[communicator.ranks[rank]].host;
  }

  const Job& job_;
  collectives::Tuning tuning_;
  HostBytes& bytes_;
};

}  // namespace

planner::Demand demand_of(const HostBytes& bytes, const topology::Topology& topology) {
  planner::Demand demand = planner::demand_of_flows({}, topology);
  for (const auto& [pair, each] : bytes) {
    demand.flows.push_back({pair.first, pair.second, each});
  }
  return demand;
}

void add_job(const topology::Job& job, const topology::Topology& topology, HostBytes& bytes) {
  JobBytes adder(job, topology, bytes);
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) adder.add(job.ranks[rank], rank);
}

}  // namespace heddle::cli
