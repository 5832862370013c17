// See advised.h.
#include "apps/cli/plan/advise/advised.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "apps/cli/plan/params.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_s(std::vector<Nanos> times) {
  std::sort(times.begin(), times.end());
  return static_cast<double>(times[(times.size() - 1) / 2].count) * 1e-9;
}

// Of the host that sends most.
uint64_t most_sent(const planner::Demand& demand) {
  std::map<uint32_t, uint64_t> sent;
  uint64_t most = 0;
  for (const planner::FlowDemand& flow : demand.flows) {
    most = std::max(most, sent[demand.endpoints[flow.from].host] += flow.bytes);
  }
  return most;
}

// Recorded steps by their time; seeds take those of the middle half in turn, so that computation
// varies as it did.
std::vector<size_t> middle_half(const std::vector<Nanos>& took) {
  std::vector<size_t> order(took.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&took](size_t one, size_t other) { return took[one] < took[other]; });
  const size_t aside = order.size() / 4;
  return {order.begin() + static_cast<std::ptrdiff_t>(aside),
          order.end() - static_cast<std::ptrdiff_t>(aside)};
}

class Advising {
 public:
  Advising(const RecordedSetting& setting, const AdviseQuestion& question)
      : setting_(setting), question_(question), middle_(middle_half(setting.steps.took)) {}

  Result<Advised> run() {
    if (Result<void> simulated = simulate_as_it_is(); !simulated) return fail(simulated.error());
    const StepTraffic traffic = traffic_of(setting_, question_.transport);
    advised_.facts.longest_host_link_s = traffic.longest.of_nics * 1e-9;
    advised_.facts.longest_switch_link_s = traffic.longest.between_switches * 1e-9;
    advised_.facts.paths = traffic.no_gain;
    Result<Candidates> candidates =
        candidates_of(setting_, traffic, question_.transport, question_.model);
    if (!candidates) return fail(candidates.error());
    advised_.left_out = std::move(candidates->left_out);
    advised_.sent_bytes = most_sent(traffic.demand);
    if (question_.fabrics) {
      std::vector<Candidate> fabrics =
          fabric_candidates(setting_, !traffic.hashes || advised_.facts.longest_switch_link_s > 0);
      std::move(fabrics.begin(), fabrics.end(), std::back_inserter(candidates->considered));
    }
    std::vector<AdvisedChange> changes;
    for (size_t i = 0; i < candidates->considered.size(); ++i) {
      Candidate& candidate = candidates->considered[i];
      if (progress_.visible()) {
        progress_.show(
            fmt::format("{} of {}: {}", i + 1, candidates->considered.size(), candidate.name));
      }
      Result<AdvisedChange> change = judge(std::move(candidate));
      if (!change) return fail(change.error());
      changes.push_back(std::move(*change));
    }
    note_unplanned(changes);
    rank(std::move(changes));
    return std::move(advised_);
  }

 private:
  const topology::Job& job_of(size_t seed) const {
    return setting_.steps.jobs[middle_[seed % middle_.size()]];
  }

  Result<void> simulate_as_it_is() {
    std::vector<double> exposed;
    std::vector<double> computed;
    for (size_t seed = 0; seed < question_.seeds; ++seed) {
      if (progress_.visible()) progress_.show("the job as it is");
      const Result<SimulatedStep> step =
          simulate_step(setting_.topology, job_of(seed), question_.transport, seed + 1);
      if (!step) return fail(step.error());
      advised_.step_s.push_back(step->step_s);
      exposed.push_back(step->exposed_s);
      computed.push_back(step->computed_s);
    }
    advised_.facts.step_s = mean_of(advised_.step_s);
    advised_.facts.exposed_s = mean_of(exposed);
    advised_.computed_s = mean_of(computed);
    advised_.recorded_s = median_s(setting_.steps.took);
    advised_.off_by = planner::off_by(advised_.facts.step_s, advised_.recorded_s);
    advised_.bound = question_.bound;
    return {};
  }

  Result<AdvisedChange> judge(Candidate candidate) {
    AdvisedChange change;
    change.candidate = std::move(candidate);
    if (change.candidate.closed) {
      change.gain = *change.candidate.closed;
    } else if (Result<void> done = simulate(change); !done) {
      if (done.error().code == ErrorCode::kCancelled) return fail(done.error());
      change.why = planner::NoAdvantage::kUncertain;
      change.reason = "cannot be simulated: " + done.error().why;
      change.step_s.clear();
      return change;
    }
    change.why = planner::why_not(change.candidate.kind, advised_.facts, change.gain);
    change.reason = planner::reason_text(change.why, advised_.facts, change.gain);
    const bool may_gain = change.why == planner::NoAdvantage::kGains ||
                          change.why == planner::NoAdvantage::kUncertain;
    if (may_gain && change.misfits > params::plan::kMostMisfits) {
      change.why = planner::NoAdvantage::kUncertain;
      change.reason = fmt::format(
          "the plan does not fit: {:.0f}% of the pairs of ranks have no path on its routes, and "
          "choose paths adaptively",
          100 * change.misfits);
    }
    return change;
  }

  Result<void> simulate(AdvisedChange& change) {
    const Candidate& candidate = change.candidate;
    StepTransport transport = question_.transport;
    if (candidate.paths) transport.paths = *candidate.paths;
    transport.planned = candidate.planned;
    transport.roce = candidate.roce;
    const topology::Topology other =
        candidate.fabric ? candidate.fabric(setting_.topology) : topology::Topology{};
    const topology::Topology& topology = candidate.fabric ? other : setting_.topology;
    for (size_t seed = 0; seed < question_.seeds; ++seed) {
      const Result<SimulatedStep> step =
          simulate_step(topology, candidate.change(job_of(seed)), transport, seed + 1);
      if (!step) return fail(step.error());
      change.step_s.push_back(step->step_s / candidate.steps);
      change.misfits = std::max(change.misfits, step->misfits);
      change.gain = planner::gain_of(advised_.step_s, change.step_s);
      if (question_.every_seed) continue;
      if (seed + 1 == params::plan::kScreeningSeeds &&
          change.gain.mean < params::plan::kScreeningCost)
        break;
    }
    return {};
  }

  // A plan comes with more paths, which gain by themselves.
  static void note_unplanned(std::vector<AdvisedChange>& changes) {
    for (AdvisedChange& planned : changes) {
      if (!planned.candidate.planned) continue;
      for (const AdvisedChange& other : changes) {
        const bool same = other.candidate.kind == planner::ChangeKind::kPaths &&
                          other.candidate.paths == planned.candidate.paths;
        if (!same || other.step_s.empty()) continue;
        planned.candidate.note = fmt::format("{} paths gain {:.1f}% without a plan",
                                             *other.candidate.paths, 100 * other.gain.mean);
      }
    }
  }

  void rank(std::vector<AdvisedChange> changes) {
    std::vector<planner::Gain> gains;
    for (const AdvisedChange& change : changes) gains.push_back(change.gain);
    std::vector<size_t> ordered;
    // What makes a step another one, with a larger batch, comes behind what leaves it as it is.
    for (const bool other_batch : {false, true}) {
      for (const size_t place : planner::ranked(gains)) {
        if ((changes[place].candidate.steps > 1) != other_batch) continue;
        ordered.push_back(place);
      }
    }
    for (const size_t place : ordered) advised_.changes.push_back(std::move(changes[place]));
  }

  const RecordedSetting& setting_;
  const AdviseQuestion& question_;
  const std::vector<size_t> middle_;
  ProgressLine progress_;
  Advised advised_;
};

}  // namespace

Result<Advised> advise(const RecordedSetting& setting, const AdviseQuestion& question) {
  return Advising(setting, question).run();
}

}  // namespace heddle::cli
