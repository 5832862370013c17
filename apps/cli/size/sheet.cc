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
#include "apps/cli/size/params.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using planner::ChangeKind;
using planner::Gain;
using planner::NoAdvantage;
using planner::Verdict;

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

// `paths`: of a connection, that the job had.
std::string undo_text(ChangeKind kind, const RecordedSetting& setting, uint16_t paths) {
  switch (kind) {
    case ChangeKind::kRankOrder:
    case ChangeKind::kPlacement:
      return "the recorded order: heddle run --hosts " + host_list(setting.hosts, setting.topology);
    case ChangeKind::kAlgorithm:
      return "HEDDLE_ALGORITHM as it was, or unset";
    case ChangeKind::kBuckets:
      return "the former bucket_cap_mb";
    case ChangeKind::kSharding:
      return "DistributedDataParallel again, from a checkpoint of full parameters";
    case ChangeKind::kAccumulation:
      return "a backward pass a step again";
    case ChangeKind::kPaths:
      return fmt::format("HEDDLE_PATHS={}", paths);
    case ChangeKind::kPathPlan:
      return fmt::format("unset HEDDLE_PLAN; HEDDLE_PATHS={}", paths);
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
    sheet_.recording = question_.recordings;
    sheet_.setting = question_.fabric + question_.advice_words;
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

  // No change of the network saves more than ranks wait: a gain beyond it is the simulation's
  // error.
  bool exceeds_waiting(const AdvisedChange& change) const {
    return change.why == NoAdvantage::kGains && change.gain.low > sheet_.waiting.high;
  }
  bool is_comparable(const AdvisedChange& change) const {
    return !change.step_s.empty() && why_of(change) == NoAdvantage::kGains;
  }
  NoAdvantage why_of(const AdvisedChange& change) const {
    return exceeds_waiting(change) ? NoAdvantage::kUncertain : change.why;
  }
  std::string reason_of(const AdvisedChange& change) const {
    if (!exceeds_waiting(change)) return change.reason;
    return fmt::format("more than the {} that ranks wait: the simulation is off by {:+.1f}%",
                       percent_text(sheet_.waiting.high), 100 * sheet_.off_by);
  }

  // With the names of this job in place of the kinds of files.
  std::string todo_of(const Candidate& candidate) const {
    if (candidate.kind != ChangeKind::kPathPlan) return candidate.todo;
    return "heddle plan" + question_.fabric + " --recording " + question_.recordings +
           " --addresses FILE -o plan.json; HEDDLE_PLAN=plan.json " +
           fmt::format("HEDDLE_PATHS={}", candidate.paths.value_or(1));
  }

  SheetRow row_of(const std::string& measure, const AdvisedChange& change) const {
    const Candidate& candidate = change.candidate;
    return {.measure = measure,
            .change = candidate.name,
            .kind = candidate.kind,
            .todo = todo_of(candidate),
            .undo = undo_text(candidate.kind, setting_, question_.advice.transport.paths),
            .gain = change.gain,
            .in_use = false,
            .why = why_of(change),
            .reason = reason_of(change),
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
      options_.push_back({change.candidate.kind, change.gain, is_comparable(change)});
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
    if (row.why != NoAdvantage::kGains && row.why != NoAdvantage::kHidden) {
      row.why = NoAdvantage::kUncertain;
    }
    if (row.why == NoAdvantage::kUncertain && row.gain.high < 0) {
      row.reason = fmt::format("one path takes {} less", percent_text(-row.gain.mean));
    } else if (row.why == NoAdvantage::kUncertain) {
      row.reason = fmt::format("within the spread of seeds: {:+.1f}% to {:+.1f}%",
                               100 * row.gain.low, 100 * row.gain.high);
    }
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
    const planner::Effort effort = planner::effort_of(row.kind);
    const char* first = "New hardware";
    if (effort == planner::Effort::kSetting) first = "First a setting, no hardware";
    if (effort == planner::Effort::kProgram) first = "First the program, no hardware";
    sheet_.conclusion = fmt::format("{}: {}. It gains {} of a step ({} to {}).", first, row.change,
                                    percent_text(row.gain.mean), percent_text(row.gain.low),
                                    percent_text(row.gain.high));
    if (effort != planner::Effort::kHardware) sheet_.beside = hardware_text();
    add_stages(row);
  }

  // What the best hardware gains in place of that.
  std::string hardware_text() const {
    const SheetRow* best = nullptr;
    for (const SheetRow& row : sheet_.rows) {
      const bool gains = row.why == NoAdvantage::kGains && !row.change.empty();
      if (planner::effort_of(row.kind) != planner::Effort::kHardware || !gains) continue;
      if (best == nullptr || row.gain.mean > best->gain.mean) best = &row;
    }
    if (best == nullptr) return "No hardware of this sheet would gain anything.";
    return fmt::format("Of the hardware, {} would gain most, {}.", best->change,
                       percent_text(best->gain.mean));
  }

  void conclude_no_go() {
    const bool hidden = sheet_.waiting.high < question_.least_gain;
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
    sheet_.stages = {{"evidence",
                      "give the fabric that it ran on (--topology, else --rate), the hosts of its "
                      "ranks (--hosts) and its "
                      "--paths; record it while its hosts run nothing else",
                      fmt::format("the simulated step is within {:.0f}% of the recorded one",
                                  100 * sheet_.bound),
                      "nothing was changed"}};
  }

  // The trial is as long as it takes to see the lower end of the gain by medians, whose error is
  // 1.25 times that of means; it is passed at the part of the gain that is more than noise.
  void add_stages(const SheetRow& row) {
    const uint64_t steps =
        planner::steps_to_see(row.gain.low, planner::kMedianError * sheet_.variation);
    const double spread = std::max(params::size::kLeastSpread, sheet_.variation);
    const std::string most = time_text(sheet_.step_s * (1 - planner::kSeenPart * row.gain.low));
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
                     most),
         row.undo});
    sheet_.stages.push_back(
        {"4. all jobs of this kind", "the same for each of them, watched by heddle monitor",
         fmt::format("heddle monitor reports no fault for a week, and the median step stays at "
                     "most {}",
                     most),
         row.undo});
  }

  // The second stage harms no job: simulated hosts, or hosts that have none.
  TrialStage beside_the_job(const SheetRow& row) const {
    const bool bought = planner::effort_of(row.kind) == planner::Effort::kHardware;
    if (bought) {
      return {"2. two hosts",
              "two hosts that have no job, with the new links: heddle verify --hosts A,B",
              "every stage passes, and the rate is the new one", row.undo};
    }
    if (row.kind == ChangeKind::kPathPlan) {
      return {"2. beside the job",
              "heddle plan" + question_.fabric + " --recording " + question_.recordings,
              "the plan's longest link is shorter than that of ECMP", "nothing was changed"};
    }
    return {
        "2. beside the job",
        fmt::format("with real packets in a lab: heddle plan advise {}{}{} --try {}",
                    question_.recordings, question_.fabric, question_.advice_words, place_of(row)),
        fmt::format("the interval of the gain measured for \"{}\" is above 0", row.change),
        "nothing was changed"};
  }

  // Of the changes that heddle plan advise tries, from 1.
  size_t place_of(const SheetRow& row) const {
    size_t place = 0;
    for (const AdvisedChange& change : advised_.changes) {
      const Candidate& candidate = change.candidate;
      const bool tried = candidate.change && !candidate.planned && !candidate.fabric &&
                         candidate.kind != ChangeKind::kFabric && change.why == NoAdvantage::kGains;
      if (tried) ++place;
      if (candidate.name == row.change) break;
    }
    return std::max<size_t>(place, 1);
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
