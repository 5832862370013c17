// See step_simulation.h.
#include "apps/cli/plan/advise/step_simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "apps/cli/plan/job_demand.h"
#include "apps/cli/plan/params.h"
#include "base/interrupt.h"
#include "jobs/simulated_jobs.h"
#include "jobs/sums.h"
#include "planner/path_plan.h"
#include "simulator/flow_run.h"

namespace heddle::cli {
namespace {

// Odd, so that different seeds give different hashes: 2^64 over the golden ratio.
constexpr uint64_t kSeedStride = 0x9E3779B97F4A7C15;

double seconds_of(Nanos time) { return static_cast<double>(time.count) * 1e-9; }

Unexpected not_simulated(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot simulate the job", why,
              "try its workload alone: heddle workload from RECORDING, heddle sim");
}

Unexpected stopped() {
  return fail(ErrorCode::kCancelled, "the simulation was stopped", "a signal came", "");
}

// A plan for the hashes of this seed's switches.
Result<void> plan(const topology::Topology& topology, const topology::Job& job,
                  simulator::FlowRunOptions& options) {
  HostBytes bytes;
  add_job(job, topology, bytes);
  const Result<planner::PathPlan> made =
      planner::plan_paths(topology, demand_of(bytes, topology), {.paths = options.paths});
  if (!made) return fail(made.error());
  options.selector = "plan";
  for (const planner::PlannedFlow& flow : made->flows) {
    for (const planner::PlannedPath& each : flow.paths) {
      options.plan[{flow.demand.from, flow.demand.to}].push_back(
          {each.path, each.share_per_million});
    }
  }
  return {};
}

// NICs whose timeout exceeds the time in which the slowest link drains the largest switch: where
// links are slow, the one of simulator/roce/params.h ends queue pairs that wait in turn.
simulator::RoceOptions roce_of(const topology::Topology& topology) {
  Bytes largest;
  for (const topology::Switch& each : topology.switches) {
    largest.count = std::max(largest.count, each.shape.buffer.count);
  }
  Nanos drained;
  for (const topology::Link& link : topology.links) {
    drained = std::max(drained, transmit_time(largest, link.shape.rate));
  }
  simulator::RoceOptions options;
  while (options.ack_timeout < 2 * drained) options.ack_timeout = 2 * options.ack_timeout;
  return options;
}

SimulatedStep sums_of(const topology::Job& job, const jobs::JobOutcome& outcome) {
  std::vector<Nanos> times = jobs::step_times(job, outcome);
  SimulatedStep step;
  for (size_t i = 0; i < times.size(); ++i) {
    step.computed_s += seconds_of(outcome.steps[i].computed);
    step.exposed_s += seconds_of(outcome.steps[i].exposed);
  }
  const auto parts = static_cast<double>(times.size() * job.ranks.size());
  step.computed_s /= parts;
  step.exposed_s /= parts;
  step.step_s = seconds_of(jobs::median(std::move(times)));
  return step;
}

}  // namespace

Result<SimulatedStep> simulate_step(const topology::Topology& topology, topology::Job job,
                                    const StepTransport& transport, uint64_t seed) {
  if (interrupted() != 0) return stopped();
  topology::Topology hashed = topology;
  for (topology::Switch& each : hashed.switches) each.hash_seed += seed * kSeedStride;
  for (topology::Program& program : job.programs) program.repeat = params::plan::kStepsSimulated;
  if (Result<void> valid = topology::validate(hashed); !valid) return fail(valid.error());
  if (Result<void> valid = topology::validate(job, hashed); !valid) return fail(valid.error());
  topology::Workload workload;
  workload.jobs.push_back(std::move(job));
  simulator::FlowRunOptions options;
  options.seed = seed;
  options.congestion = transport.congestion;
  options.selector = transport.selector;
  options.paths = transport.paths;
  options.initial_window = {64'000};
  options.longest_burst = {64'000};
  if (transport.roce) options.roce = roce_of(hashed);
  if (transport.planned) {
    if (Result<void> made = plan(hashed, workload.jobs.front(), options); !made) {
      return fail(made.error());
    }
  }
  simulator::FlowRun run(hashed, workload, options);
  const auto jobs = jobs::SimulatedJobs::create(run, {});
  if (!jobs) return fail(jobs.error());
  while (run.advance(Nanos::never(), params::plan::kEventsAtOnce)) {
    if (interrupted() != 0) return stopped();
  }
  const jobs::JobOutcome& outcome = (*jobs)->outcomes().front();
  if (!outcome.error.empty()) return not_simulated(outcome.error);
  if (!(*jobs)->all_done()) return not_simulated("its ranks wait for each other");
  SimulatedStep step = sums_of(workload.jobs.front(), outcome);
  if ((*jobs)->planned_pairs() > 0) {
    step.misfits =
        static_cast<double>((*jobs)->misfits()) / static_cast<double>((*jobs)->planned_pairs());
  }
  return step;
}

}  // namespace heddle::cli
