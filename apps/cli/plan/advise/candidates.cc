// See candidates.h.
#include "apps/cli/plan/advise/candidates.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apps/cli/plan/advise/parallelism.h"
#include "apps/cli/plan/advise/placements.h"
#include "apps/cli/plan/job_demand.h"
#include "apps/cli/plan/params.h"
#include "planner/fabric_changes.h"
#include "planner/job_changes.h"

namespace heddle::cli {
namespace {

using planner::ChangeKind;
using planner::WhichLinks;
using topology::CallKind;
using topology::Job;

// The operation with most bytes in a step, of those with a choice of algorithms; and its algorithm.
struct MainCall {
  CallKind kind = CallKind::kBarrier;
  std::optional<topology::AlgorithmChoice> algorithm;
  uint64_t bytes = 0;
};

MainCall main_call(const Job& job) {
  std::map<CallKind, MainCall> sums;
  for (const topology::Action& action : job.programs.front().actions) {
    if (action.kind != topology::ActionKind::kCall || action.bytes == 0) continue;
    if (topology::between_two(action.call)) continue;
    MainCall& sum = sums[action.call];
    sum.kind = action.call;
    sum.bytes += action.bytes;
    if (!sum.algorithm) sum.algorithm = action.algorithm;
  }
  MainCall most;
  for (const auto& [kind, sum] : sums) {
    if (sum.bytes > most.bytes) most = sum;
  }
  return most;
}

// As the setting `algorithm` spells operations.
std::string setting_name(CallKind kind) {
  std::string name(topology::name_of(kind));
  std::erase(name, '_');
  return name;
}

class Proposing {
 public:
  Proposing(const RecordedSetting& setting, const StepTraffic& traffic,
            const StepTransport& transport)
      : setting_(setting),
        traffic_(traffic),
        transport_(transport),
        job_(setting.steps.jobs[setting.steps.jobs.size() / 2]) {}

  Candidates propose() {
    add_placements();
    add_algorithms();
    add_buckets();
    add_sharding();
    add_paths();
    add_plan();
    return std::move(made_);
  }

 private:
  void leave_out(ChangeKind kind, const std::string& why) { made_.left_out.push_back({kind, why}); }

  void add_placements() {
    if (!setting_.fabric_known) {
      leave_out(ChangeKind::kRankOrder, "every host has the same place without a --topology");
      return;
    }
    const std::vector<Placement> placements = placements_of(setting_, traffic_.demand);
    for (const Placement& each : placements) {
      made_.considered.push_back(
          {.kind = each.moves ? ChangeKind::kPlacement : ChangeKind::kRankOrder,
           .name = each.name,
           .todo = "start the ranks in this order: heddle run --hosts " +
                   host_list(each.hosts, setting_.topology),
           .note = "",
           .change = [hosts = each.hosts](const Job& job) { return planner::placed(job, hosts); }});
    }
    if (placements.empty()) {
      leave_out(ChangeKind::kRankOrder,
                "no other order or choice of hosts takes traffic off the links between switches");
    }
  }

  void add_algorithms() {
    const MainCall most = main_call(job_);
    if (most.bytes == 0) {
      leave_out(ChangeKind::kAlgorithm, "the first rank calls no collectives");
      return;
    }
    for (const topology::AlgorithmChoice& choice : choices_of(most.kind)) {
      if (most.algorithm == choice) continue;
      const std::string value = setting_name(most.kind) + ":" + topology::text_of(choice);
      const std::string before =
          most.algorithm ? " instead of " + topology::text_of(*most.algorithm) : "";
      made_.considered.push_back({.kind = ChangeKind::kAlgorithm,
                                  .name = fmt::format("{} by {}{}", topology::name_of(most.kind),
                                                      topology::text_of(choice), before),
                                  .todo = "HEDDLE_ALGORITHM=" + value,
                                  .note = "",
                                  .change = [kind = most.kind, choice](const Job& job) {
                                    return planner::with_algorithm(job, kind, choice);
                                  }});
    }
  }

  std::vector<topology::AlgorithmChoice> choices_of(CallKind kind) const {
    std::vector<topology::AlgorithmChoice> choices;
    for (uint32_t i = 0; i < topology::kCallAlgorithms; ++i) {
      const auto algorithm = static_cast<topology::CallAlgorithm>(i);
      if (!topology::has_algorithm(kind, algorithm)) continue;
      if (algorithm != topology::CallAlgorithm::kTwoLevel) {
        choices.push_back({algorithm});
        continue;
      }
      const auto ranks = static_cast<uint32_t>(job_.communicators.front().ranks.size());
      for (uint32_t group = 2; group < ranks; group *= 2) {
        if (ranks % group == 0) choices.push_back({algorithm, group});
      }
    }
    return choices;
  }

  void add_buckets() {
    const planner::Buckets buckets = planner::buckets_of(job_);
    if (buckets.largest_bytes == 0) {
      leave_out(ChangeKind::kBuckets, "the job has no all-reduces of gradients");
      return;
    }
    std::set<uint32_t> factors;
    for (const uint32_t factor : {2U, 4U, buckets.count}) {
      if (factor > 1 && factor <= buckets.count) factors.insert(factor);
    }
    const double mib = static_cast<double>(buckets.largest_bytes) / (1 << 20);
    for (const uint32_t factor : factors) {
      add_bucket(fmt::format("gradient buckets merged, {} into one", factor), mib * factor,
                 [factor](const Job& job) { return planner::merged(job, factor); });
    }
    for (const uint32_t parts : {2U, 4U}) {
      add_bucket(fmt::format("gradient buckets split in {}", parts), mib / parts,
                 [parts](const Job& job) { return planner::split(job, parts); });
    }
  }
  void add_bucket(const std::string& name, double mib, std::function<Job(const Job&)> change) {
    made_.considered.push_back(
        {.kind = ChangeKind::kBuckets,
         .name = name,
         .todo = fmt::format("DistributedDataParallel(..., bucket_cap_mb={:.4g})", mib),
         .note = "",
         .change = std::move(change)});
  }

  void add_sharding() {
    bool exchanges = false;
    for (const topology::Action& action : job_.programs.front().actions) {
      exchanges = exchanges || (planner::exchanges_gradients(job_, action) &&
                                action.call == CallKind::kAllReduce);
    }
    if (!exchanges) {
      leave_out(ChangeKind::kSharding, "the job has no all-reduces of gradients");
      leave_out(ChangeKind::kAccumulation, "the job has no all-reduces of gradients");
      return;
    }
    made_.considered.push_back(
        {.kind = ChangeKind::kSharding,
         .name = "FSDP in place of DDP",
         .todo = "FullyShardedDataParallel(..., sharding_strategy=SHARD_GRAD_OP)",
         .note = "a rank keeps its part of gradients and optimizer states only",
         .change = [](const Job& job) { return planner::sharded(job); }});
    for (const uint32_t passes : {2U, 4U}) {
      made_.considered.push_back(
          {.kind = ChangeKind::kAccumulation,
           .name = fmt::format("gradients accumulated over {} passes", passes),
           .todo =
               fmt::format("model.no_sync() around {} of {} backward passes", passes - 1, passes),
           .note = fmt::format("the batch of a step is {} times as large", passes),
           .change = [passes](const Job& job) { return planner::accumulated(job, passes); },
           .steps = static_cast<double>(passes)});
    }
  }

  void add_paths() {
    for (const uint16_t paths : {uint16_t{1}, uint16_t{16}, uint16_t{64}}) {
      if (paths == transport_.paths) continue;
      made_.considered.push_back(
          {.kind = ChangeKind::kPaths,
           .name = fmt::format("{} {} of a connection instead of {}", paths,
                               paths == 1 ? "path" : "paths", transport_.paths),
           .todo = fmt::format("HEDDLE_PATHS={}", paths),
           .note = "",
           .change = [](const Job& job) { return job; },
           .steps = 1,
           .paths = paths});
    }
  }

  void add_plan() {
    if (!traffic_.hashes) {
      leave_out(ChangeKind::kPathPlan, "switches spray or route adaptively: there is no plan");
      return;
    }
    made_.considered.push_back(
        {.kind = ChangeKind::kPathPlan,
         .name = "paths planned",
         .todo = fmt::format("heddle plan --topology FILE --recording DIR --addresses FILE -o "
                             "plan.json; HEDDLE_PLAN=plan.json HEDDLE_PATHS={}",
                             params::plan::kPlannedPaths),
         .note = "",
         .change = [](const Job& job) { return job; },
         .steps = 1,
         .paths = params::plan::kPlannedPaths,
         .planned = true});
  }

  const RecordedSetting& setting_;
  const StepTraffic& traffic_;
  const StepTransport& transport_;
  const Job& job_;
  Candidates made_;
};

}  // namespace

StepTraffic traffic_of(const RecordedSetting& setting, const StepTransport& transport) {
  StepTraffic traffic;
  HostBytes bytes;
  add_job(setting.steps.jobs[setting.steps.jobs.size() / 2], setting.topology, bytes);
  traffic.demand = demand_of(bytes, setting.topology);
  const Result<planner::PathPlan> plan =
      planner::plan_paths(setting.topology, traffic.demand, {.paths = params::plan::kPlannedPaths});
  traffic.hashes = plan.has_value();
  if (!plan) return traffic;
  traffic.longest = transport.paths == 1 ? plan->ecmp : plan->spraying;
  traffic.planned = plan->planned;
  traffic.no_gain = plan->no_gain;
  if (plan->no_gain == planner::NoGain::kGains &&
      plan->planned.longest() >= traffic.longest.longest()) {
    traffic.no_gain = planner::NoGain::kEven;
  }
  return traffic;
}

std::vector<Candidate> fabric_candidates(const RecordedSetting& setting, bool crosses) {
  using topology::Topology;
  const auto same = [](const Job& job) { return job; };
  std::vector<Candidate> made;
  const auto add = [&](ChangeKind kind, const std::string& name, const std::string& todo,
                       std::function<Topology(const Topology&)> fabric, bool roce) {
    made.push_back({.kind = kind,
                    .name = name,
                    .todo = todo,
                    .note = "",
                    .change = same,
                    .steps = 1,
                    .paths = {},
                    .planned = false,
                    .fabric = std::move(fabric),
                    .roce = roce,
                    .closed = {}});
  };
  const auto add_faster = [&](const std::string& name, const std::string& todo, WhichLinks which) {
    add(
        ChangeKind::kBandwidth, name, todo,
        [which](const Topology& fabric) { return planner::faster(fabric, which, 2); }, false);
  };
  add_faster("hosts' links at twice the rate", "NICs and leaf ports of twice the rate",
             WhichLinks::kHosts);
  if (crosses) {
    add_faster("links between switches at twice the rate", "twice the uplinks, or their rate",
               WhichLinks::kSwitches);
    add_faster("all links at twice the rate", "NICs and switches of twice the rate",
               WhichLinks::kAll);
    add(
        ChangeKind::kFabric, "one switch for all hosts",
        "a fabric without oversubscription or collisions: none is better at these NICs",
        [](const Topology& fabric) { return planner::on_one_switch(fabric); }, false);
  }
  if (!planner::has_rates(setting.topology)) return made;
  add(
      ChangeKind::kFabric, "RoCE NICs on a lossless fabric",
      "NICs with RDMA; PFC and ECN on every switch",
      [](const Topology& fabric) { return planner::lossless(fabric); }, true);
  return made;
}

Result<Candidates> candidates_of(const RecordedSetting& setting, const StepTraffic& traffic,
                                 const StepTransport& transport, const ModelQuestion& model) {
  Candidates made = Proposing(setting, traffic, transport).propose();
  if (model.model.empty()) {
    made.left_out.push_back(
        {ChangeKind::kParallelism, "TP x PP x DP need the model's shape: give --model"});
    return made;
  }
  Result<std::vector<Candidate>> splits = parallelism_candidates(setting, model);
  if (!splits) return fail(splits.error());
  if (splits->empty()) {
    made.left_out.push_back({ChangeKind::kParallelism, "no other split of the ranks is faster"});
  }
  made.considered.insert(made.considered.end(), splits->begin(), splits->end());
  return made;
}

}  // namespace heddle::cli
