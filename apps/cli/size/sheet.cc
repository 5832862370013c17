// See sheet.h.
#include "apps/cli/size/sheet.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "apps/cli/plan/advise/placements.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using planner::ChangeKind;
using planner::Gain;
using planner::NoAdvantage;
using planner::Verdict;

// A step of the baseline may differ from the recorded one by this share, at least. Chosen: the
// spread of a quiet job's steps, as kLeastExposed of planner/advice.h. Range: 0.01 to 0.05.
constexpr double kLeastSpread = 0.02;

struct MeasureKinds {
  const char* name;
  std::vector<ChangeKind> kinds;
};

const std::vector<MeasureKinds>& measures() {
  static const std::vector<MeasureKinds> all = {
      {"number of paths", {ChangeKind::kPaths}},
      {"planned paths", {ChangeKind::kPathPlan}},
      {"order of ranks", {ChangeKind::kRankOrder, ChangeKind::kPlacement}},
      {"algorithm", {ChangeKind::kAlgorithm}},
      {"the job's program",
       {ChangeKind::kBuckets, ChangeKind::kSharding, ChangeKind::kParallelism}},
      {"more bandwidth", {ChangeKind::kBandwidth}},
      {"another fabric", {ChangeKind::kFabric}},
  };
  return all;
}

bool is_of(const MeasureKinds& measure, ChangeKind kind) {
  return std::find(measure.kinds.begin(), measure.kinds.end(), kind) != measure.kinds.end();
}

std::string time_text(double seconds) {
  return duration_text(nanos(static_cast<int64_t>(std::llround(seconds * 1e9))));
}

std::string percent_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string undo_text(ChangeKind kind, const RecordedSetting& setting) {
  switch (kind) {
    case ChangeKind::kRankOrder:
    case ChangeKind::kPlacement:
      return "the recorded order: heddle run --hosts " + host_list(setting.hosts, setting.topology);
    case ChangeKind::kAlgorithm:
      return "unset HEDDLE_ALGORITHM";
    case ChangeKind::kBuckets:
      return "the former bucket_cap_mb";
    case ChangeKind::kSharding:
      return "DistributedDataParallel again, from a checkpoint of full parameters";
    case ChangeKind::kAccumulation:
      return "a backward pass a step again";
    case ChangeKind::kPaths:
      return "unset HEDDLE_PATHS";
    case ChangeKind::kPathPlan:
      return "unset HEDDLE_PLAN";
    case ChangeKind::kParallelism:
      return "the former split, from a checkpoint";
    case ChangeKind::kBandwidth:
    case ChangeKind::kFabric:
      return "jobs on the former links, which stay in place until the last stage is passed";
  }
  return "";
}

class SheetMaking {
 public:
  SheetMaking(const RecordedSetting& setting, const Advised& advised, const SheetQuestion& question)
      : setting_(setting), advised_(advised), question_(question) {}

  Sheet make() {
    add_facts();
    for (const MeasureKinds& measure : measures()) add_rows(measure);
    decide();
    return std::move(sheet_);
  }

 private:
  void add_facts() {
    const planner::RecordedSteps& steps = setting_.steps;
    std::vector<double> took;
    for (const Nanos each : steps.took) took.push_back(to_seconds(each));
    sheet_.recording = question_.recording;
    sheet_.ranks = setting_.hosts.size();
    sheet_.steps = steps.jobs.size();
    sheet_.step_s = advised_.recorded_s;
    sheet_.variation = planner::variation_of(took);
    sheet_.waiting = planner::mean_of(planner::waiting_shares(steps));
    sheet_.sent_bytes = static_cast<double>(advised_.sent_bytes);
    sheet_.host_cores = cores(0);
    sheet_.off_by = advised_.off_by;
    sheet_.bound = advised_.bound;
    sheet_.least_gain = question_.least_gain;
    sheet_.cpu_s_per_gbyte = question_.cpu_s_per_gbyte;
    sheet_.seeds = question_.advice.seeds;
    sheet_.fabric_known = setting_.fabric_known;
    sheet_.notes = setting_.notes;
  }

  // What the transport takes of a host whose step is shorter by that share.
  double cores(double gain) const {
    const double step_s = sheet_.step_s * (1 - gain);
    return step_s > 0 ? sheet_.sent_bytes * 1e-9 * question_.cpu_s_per_gbyte / step_s : 0;
  }

  SheetRow row_of(const std::string& measure, const AdvisedChange& change) const {
    const Candidate& candidate = change.candidate;
    return {.measure = measure,
            .change = candidate.name,
            .kind = candidate.kind,
            .todo = candidate.todo,
            .undo = undo_text(candidate.kind, setting_),
            .gain = change.gain,
            .in_use = false,
            .why = change.why,
            .reason = change.reason,
            .host_cores = candidate.roce ? 0 : cores(change.gain.mean)};
  }

  // The best change of a measure, each of those that must be bought, and what is in use already.
  void add_rows(const MeasureKinds& measure) {
    size_t added = 0;
    const bool each = measure.kinds.front() == ChangeKind::kBandwidth ||
                      measure.kinds.front() == ChangeKind::kFabric;
    if (measure.kinds.front() == ChangeKind::kPaths && add_paths_in_use(measure.name)) return;
    for (const AdvisedChange& change : advised_.changes) {
      if (!is_of(measure, change.candidate.kind) || (added > 0 && !each)) continue;
      options_.push_back({change.candidate.kind, change.gain, !change.step_s.empty()});
      row_of_option_.push_back(sheet_.rows.size());
      sheet_.rows.push_back(row_of(measure.name, change));
      ++added;
    }
    if (added > 0) return;
    for (const NotConsidered& left : advised_.left_out) {
      if (!is_of(measure, left.kind)) continue;
      SheetRow row;
      row.measure = measure.name;
      row.kind = left.kind;
      row.why = NoAdvantage::kUncertain;
      row.reason = left.why;
      sheet_.rows.push_back(std::move(row));
      return;
    }
  }

  // Of a job that has several paths and gains nothing by another number of them: what they gain
  // against one.
  bool add_paths_in_use(const std::string& measure) {
    const uint16_t paths = question_.advice.transport.paths;
    const AdvisedChange* one_path = nullptr;
    for (const AdvisedChange& change : advised_.changes) {
      if (change.candidate.kind != ChangeKind::kPaths) continue;
      if (change.why == NoAdvantage::kGains && change.gain.mean >= question_.least_gain) {
        return false;
      }
      if (change.candidate.paths == 1) one_path = &change;
    }
    if (paths == 1 || one_path == nullptr || one_path->step_s.empty()) return false;
    SheetRow row = row_of(measure, *one_path);
    row.change = fmt::format("{} paths of a connection", paths);
    row.todo = "as it is";
    row.undo = "HEDDLE_PATHS=1";
    row.in_use = true;
    row.gain = planner::gain_of(one_path->step_s, advised_.step_s);
    row.host_cores = cores(0);
    row.why = planner::why_not(ChangeKind::kPaths, advised_.facts, row.gain);
    row.reason = planner::reason_text(row.why, advised_.facts, row.gain);
    sheet_.rows.push_back(std::move(row));
    return true;
  }

  void decide() {
    const planner::Decision decision =
        planner::decide(options_, advised_.enough_evidence(), question_.least_gain);
    sheet_.verdict = decision.verdict;
    if (decision.first) {
      sheet_.first = row_of_option_[*decision.first];
      conclude_go();
    } else if (decision.verdict == Verdict::kNoGo) {
      conclude_no_go();
    } else {
      conclude_no_evidence();
    }
  }

  void conclude_go() {
    const SheetRow& row = sheet_.rows[sheet_.first];
    sheet_.conclusion = fmt::format("Try first: {}. It gains {} of a step ({} to {}).", row.change,
                                    percent_text(row.gain.mean), percent_text(row.gain.low),
                                    percent_text(row.gain.high));
    add_stages(row);
  }

  void conclude_no_go() {
    const bool hidden = sheet_.waiting.mean < planner::kLeastExposed;
    sheet_.conclusion =
        hidden ? fmt::format(
                     "Leave the network as it is: ranks wait {} of a step, and no network "
                     "can gain more.",
                     percent_text(sheet_.waiting.mean))
               : fmt::format(
                     "Leave the network as it is: no measure gains {} of a step with "
                     "certainty.",
                     percent_text(question_.least_gain));
    sheet_.stages = {{"later", "record the job again after a change of its model, batch or fabric",
                      "heddle size report says GO", "nothing was changed"}};
  }

  void conclude_no_evidence() {
    sheet_.conclusion = fmt::format(
        "No verdict: the simulated step is off the recorded one by {:+.1f}%, and {:.0f}% is the "
        "bound. The gains below are of another job.",
        100 * sheet_.off_by, 100 * sheet_.bound);
    sheet_.stages = {
        {"evidence",
         "give the fabric that it ran on (--topology), the hosts of its ranks (--hosts) and its "
         "--paths; record it while its hosts run nothing else",
         fmt::format("the simulated step is within {:.0f}% of the recorded one",
                     100 * sheet_.bound),
         "nothing was changed"}};
  }

  void add_stages(const SheetRow& row) {
    const uint64_t steps = planner::steps_to_see(row.gain.mean, sheet_.variation);
    const double spread = std::max(kLeastSpread, sheet_.variation);
    sheet_.stages.push_back(
        {"1. baseline",
         fmt::format("record {} steps as it is: heddle record -o before -- COMMAND", steps),
         fmt::format("the median step takes {}, give or take {}", time_text(sheet_.step_s),
                     percent_text(spread)),
         "nothing was changed"});
    sheet_.stages.push_back(beside_the_job(row));
    sheet_.stages.push_back(
        {"3. one job",
         fmt::format("{}; record {} steps: heddle record -o after -- COMMAND", row.todo, steps),
         fmt::format("the median step takes at most {}, and heddle diagnose after finds nothing",
                     time_text(sheet_.step_s * (1 - row.gain.low))),
         row.undo});
    sheet_.stages.push_back({"4. all jobs of this kind",
                             "the same for each of them, watched by heddle monitor",
                             "a week without a verdict or a longer median step", row.undo});
  }

  // The second stage harms no job: simulated hosts, or hosts that have none.
  TrialStage beside_the_job(const SheetRow& row) const {
    const bool bought = planner::effort_of(row.kind) == planner::Effort::kHardware;
    if (bought) {
      return {"2. two hosts",
              "two hosts that have no job, with the new links: heddle verify --hosts A,B",
              "every stage passes, and the rate is the new one", row.undo};
    }
    const std::string fabric =
        question_.topology.empty() ? "" : " --topology " + question_.topology;
    if (row.kind == ChangeKind::kPathPlan) {
      return {"2. beside the job", "heddle plan" + fabric + " --recording " + question_.recording,
              "the plan's longest link is shorter than that of ECMP", "nothing was changed"};
    }
    return {"2. beside the job",
            "with real packets in a lab: heddle plan advise " + question_.recording + fabric +
                " --try 1",
            "the interval of the measured gain is above 0", "nothing was changed"};
  }

  const RecordedSetting& setting_;
  const Advised& advised_;
  const SheetQuestion& question_;
  Sheet sheet_;
  std::vector<planner::Option> options_;
  std::vector<size_t> row_of_option_;  // by option
};

}  // namespace

Sheet sheet_of(const RecordedSetting& setting, const Advised& advised,
               const SheetQuestion& question) {
  return SheetMaking(setting, advised, question).make();
}

}  // namespace heddle::cli
