// See acceptance.h.
#include "acceptance/acceptance.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "acceptance/commands.h"
#include "acceptance/counts_watch.h"
#include "acceptance/earlier.h"
#include "acceptance/headlines.h"
#include "acceptance/live_figures.h"
#include "acceptance/machine_rows.h"
#include "acceptance/params.h"
#include "acceptance/processor_time.h"
#include "acceptance/report_fabric.h"
#include "acceptance/session.h"
#include "acceptance/stages/rest.h"
#include "acceptance/stages/stages.h"
#include "base/version.h"
#include "lab/link_meter.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

struct Stage {
  const char* name;
  const char* title;
  Result<void> (*run)(Session& session, StageReport& report);
};

constexpr std::array kStages = {
    Stage{"inventory", "Hosts, ports and links", run_inventory},
    Stage{"reach", "Every host to every host", run_reach},
    Stage{"pairs", "Throughput and latency of pairs", run_pairs},
    Stage{"collectives", "All-reduce", run_collectives},
    Stage{"stress", "Permutation, incast and all-to-all", run_stress},
    Stage{"training", "Training steps", run_training},
    Stage{"traffic", "Traffic measured and expected", run_traffic},
};

std::string date_text() {
  const time_t now = time(nullptr);
  std::array<char, 64> text{};
  tm parts{};
  gmtime_r(&now, &parts);
  strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::vector<std::pair<std::string, std::string>> versions() {
  utsname system{};
  uname(&system);
  return {
      {"heddle", std::string(kVersion)},
      {"kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"machine", fmt::format("{}, {} processors", system.machine, sysconf(_SC_NPROCESSORS_ONLN))}};
}

bool is_chosen(const AcceptanceOptions& options, const char* name) {
  const auto& chosen = options.stages;
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

std::vector<std::string> chosen_stages(const AcceptanceOptions& options) {
  std::vector<std::string> names;
  for (const Stage& stage : kStages) {
    if (is_chosen(options, stage.name)) names.emplace_back(stage.name);
  }
  return names;
}

// Commands of another version may print documents that this one does not expect.
Result<void> run_guarded(const Stage& stage, Session& session, StageReport& report) {
  try {
    return stage.run(session, report);
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kVersion, fmt::format("stage '{}' cannot read a result", stage.name),
                error.what(), "run its commands by hand and look at what they print");
  }
}

// Hosts that do not answer fail a stage, and are why it could not measure.
void name_silent(const std::vector<SilentHost>& silent, const topology::Topology& topology,
                 Result<void>& ran, StageReport& report) {
  if (silent.empty()) return;
  std::vector<Row> rows;
  for (const SilentHost& each : silent) {
    rows.push_back(silent_row(topology.hosts[each.host].name, each.complaint));
  }
  report.rows.insert(report.rows.begin(), rows.begin(), rows.end());
  ran = {};
}

// Without hosts that were silent before it only the inventory measures anything: others need all.
Result<void> run_with_silent(const Stage& stage, Session& session, StageReport& report) {
  const Fabric& fabric = session.fabric();
  Result<void> ran;
  if (fabric.silent().empty() || stage.run == run_inventory) {
    ran = run_guarded(stage, session, report);
  }
  if (session.interrupted()) return ran;
  if (!ran || grade_of(report) == Grade::kFail) fabric.find_silent(session.commands());
  name_silent(fabric.silent(), session.topology(), ran, report);
  return ran;
}

// How the stage ended, of what it returned.
void conclude(const Result<void>& ran, bool interrupted, StageReport& report) {
  if (interrupted) {
    report.outcome = StageOutcome::kInterrupted;
  } else if (!ran) {
    report.outcome = StageOutcome::kBroken;
    report.reason = ran.error().message();
  } else if (report.rows.empty()) {
    report.outcome = StageOutcome::kBroken;
    report.reason = "it measured nothing";
  } else {
    report.outcome =
        grade_of(report) == Grade::kFail ? StageOutcome::kFailed : StageOutcome::kPassed;
  }
}

void run_stage(const Stage& stage, Session& session, StageReport& report) {
  const Nanos start = lab::meter_now();
  const size_t recorded = session.recordings.size();
  report.started = date_text();
  session.restart_processor_time();
  LiveFigures* const live = session.options().live;
  if (live != nullptr) live->begin_stage(stage.name);
  const Result<void> ran = run_with_silent(stage, session, report);
  report.seconds = to_seconds(lab::meter_now() - start);
  report.commands = session.commands().take_lines();
  note_recordings({session.recordings.begin() + static_cast<std::ptrdiff_t>(recorded),
                   session.recordings.end()},
                  report);
  conclude(ran, session.interrupted(), report);
  report.loads = session.take_stage_loads();
  session.show_loads();
  if (live != nullptr) live->end_stage(report);
}

// Puts a stage of an earlier test into this one.
void keep_stage(const StageReport& kept, Session& session, StageReport& report) {
  report = kept;
  session.add_seen(kept.loads);
  for (Session::Recording& each : recordings_of(kept, session.folder())) {
    session.recordings.push_back(std::move(each));
  }
  if (LiveFigures* const live = session.options().live) {
    live->begin_stage(kept.name);
    live->end_stage(kept);
  }
}

// `save` is called after each stage that was run.
void run_stages(Session& session, Report& report, const std::function<void()>& save) {
  std::string stopped_by;
  const Report* const earlier = session.options().earlier;
  const size_t kept = earlier == nullptr ? 0 : kept_stages(*earlier);
  for (const Stage& stage : kStages) {
    if (!is_chosen(session.options(), stage.name)) continue;
    const size_t number = report.stages.size();
    StageReport& made = report.stages.emplace_back();
    if (number < kept) {
      keep_stage(earlier->stages[number], session, made);
      continue;
    }
    made.name = stage.name;
    made.title = stage.title;
    if (!stopped_by.empty()) {
      made.reason = stopped_by;
      continue;
    }
    session.progress(fmt::format("{}: {}", stage.name, stage.title));
    run_stage(stage, session, made);
    if (made.outcome == StageOutcome::kInterrupted) stopped_by = "interrupted";
    if (made.outcome == StageOutcome::kFailed || made.outcome == StageOutcome::kBroken) {
      stopped_by = fmt::format("stage '{}' did not pass", stage.name);
    }
    save();
  }
}

// After a failure of a test of all stages: what is left without the places that failed. Whether it
// sent anything.
bool test_rest(const Fabric& fabric, const AcceptanceOptions& options, Report& report) {
  std::vector<Row> rows;
  bool failed = false;
  for (const StageReport& stage : report.stages) {
    rows.insert(rows.end(), stage.rows.begin(), stage.rows.end());
    failed = failed || stage.outcome == StageOutcome::kFailed;
    const std::vector<Row> pairs = failed_pairs(stage);
    rows.insert(rows.end(), pairs.begin(), pairs.end());
  }
  if (!options.stages.empty() || !failed || options.interrupted()) return false;
  StageReport made;
  made.name = kRestStage;
  made.title = "The rest, without what failed";
  const GoodGroup group = good_group(options.plan ? *options.plan : fabric.topology(), rows);
  if (group.left_out.empty()) {
    made.reason = "no failed check names a host or a link that could be left out";
  } else if (group.hosts.size() < 2) {
    made.reason = "fewer than two hosts are left without those that failed";
  } else {
    options.progress("rest: " + made.title);
    if (options.live != nullptr) options.live->begin_stage(made.name);
    const Nanos start = lab::meter_now();
    Result<void> ran;
    try {
      ran = run_rest(fabric, options, rows, made);
    } catch (const Json::exception& error) {
      ran = fail(ErrorCode::kVersion, "stage 'rest' cannot read a result", error.what(),
                 "run its commands by hand and look at what they print");
    }
    made.seconds = to_seconds(lab::meter_now() - start);
    conclude(ran, options.interrupted(), made);
    if (options.live != nullptr) options.live->end_stage(made);
  }
  const bool ran = made.outcome != StageOutcome::kNotRun;
  report.stages.push_back(std::move(made));
  return ran;
}

void begin_live(const Session& session, LiveFigures& live) {
  live.begin(session.topology(), chosen_stages(session.options()), session.rounds(true));
}

void note_coverage(const Session& session, Report& report) {
  report.coverage = name_of(session.coverage());
  size_t pairs = 0;
  for (const std::vector<HostPair>& round : session.rounds(true)) pairs += round.size();
  const size_t all = size_t{session.hosts()} * (session.hosts() - 1);
  if (pairs == all) return;
  report.notes.push_back(fmt::format("coverage {}: {} of {} pairs of hosts are measured",
                                     report.coverage, pairs, all));
}

// What an earlier test has found of the fabric as a whole.
void go_on_with(const Report& earlier, Report& report) {
  const std::vector<std::string> resumed = resumed_notes(earlier, report.started);
  report.notes.insert(report.notes.end(), resumed.begin(), resumed.end());
  report.started = earlier.started;
  report.start_ms = earlier.start_ms;
  report.seconds = earlier.seconds;
  report.others_busy_share = earlier.others_busy_share;
}

// How long a test has taken, and how much of the processors others used meanwhile.
class Course {
 public:
  void add_to(Report& report) const {
    report.seconds += to_seconds(lab::meter_now() - start_);
    report.others_busy_share = std::max(report.others_busy_share, processors_.others_share());
    if (!report.emulated || report.others_busy_share <= params::kDisturbed) return;
    report.notes.push_back(
        fmt::format("disturbed: other programs used {:.0f}% of this machine's processors meanwhile",
                    report.others_busy_share * 100));
  }

 private:
  Nanos start_ = lab::meter_now();
  ProcessorTime processors_;
};

// The report of a test whose other stages are still to be run.
Report report_so_far(const Session& session, const Report& report, const Course& course) {
  std::vector<StageReport> pending;
  size_t chosen = 0;
  for (const Stage& stage : kStages) {
    if (!is_chosen(session.options(), stage.name) || ++chosen <= report.stages.size()) continue;
    pending.push_back({.name = stage.name, .title = stage.title, .reason = "not reached yet"});
  }
  Report so_far = report;
  so_far.complete = false;
  so_far.stages.insert(so_far.stages.end(), pending.begin(), pending.end());
  course.add_to(so_far);
  add_fabric(session, so_far);
  add_headlines(so_far);
  return so_far;
}

// The NICs' and ports' counters now, by commands of their own: a session's may have ended.
std::optional<std::vector<PlaceCounts>> read_counters(const Fabric& fabric) {
  Commands commands(fabric);
  Result<std::vector<PlaceCounts>> counts = fabric.read_counts(commands);
  return counts ? std::optional(std::move(*counts)) : std::nullopt;
}

}  // namespace

const char* name_of(Coverage coverage) {
  if (coverage == Coverage::kRing) return "ring";
  return coverage == Coverage::kSample ? "sample" : "full";
}

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const Stage& stage : kStages) names.emplace_back(stage.name);
  return names;
}

std::string_view own_topology() {
  return R"(# Four hosts under two leaves and four spines; leaves have half of their hosts' rate up.
version = 1

[fabric]
kind = "leaf_spine"
leaves = 2
spines = 4
hosts_per_leaf = 2

[host_link]
rate = "200Mbit/s"
queue = "125KB"  # 5 ms
mtu = 1500

[switch_link]
rate = "50Mbit/s"
queue = "62500B"  # 10 ms
mtu = 1500
)";
}

Result<void> check_plan(const topology::Topology& plan, const topology::Topology& lab) {
  const auto ends = [](const topology::Topology& fabric, uint32_t link) {
    return topology::link_label(fabric, link);
  };
  const auto wrong = [](const std::string& why) {
    return fail(ErrorCode::kInvalid, "cannot verify the lab by this topology", why,
                "give the plan of the same fabric: its links may differ in rate, queue and MTU");
  };
  if (plan.hosts.size() != lab.hosts.size() || plan.links.size() != lab.links.size()) {
    return wrong(fmt::format("it has {} hosts and {} links, the lab has {} and {}",
                             plan.hosts.size(), plan.links.size(), lab.hosts.size(),
                             lab.links.size()));
  }
  for (uint32_t i = 0; i < plan.links.size(); ++i) {
    if (ends(plan, i) == ends(lab, i)) continue;
    return wrong(
        fmt::format("its link {} is '{}', the lab's is '{}'", i, ends(plan, i), ends(lab, i)));
  }
  return {};
}

Result<Report> run_acceptance(const Fabric& fabric, const AcceptanceOptions& options) {
  if (fabric.topology().hosts.size() < 2) {
    return fail(ErrorCode::kInvalid, "cannot verify this fabric", "it has fewer than two hosts",
                "give a topology with two hosts or more");
  }
  const Course course;
  Report report;
  report.fabric = fabric.name();
  report.emulated = fabric.is_emulated();
  report.started = date_text();
  report.start_ms = int64_t{time(nullptr)} * 1000;
  report.depth = options.depth == Depth::kQuick  ? "quick"
                 : options.depth == Depth::kFull ? "full"
                                                 : "normal";
  report.versions = versions();
  report.notes = fabric.notes();
  const CountsWatch counts([&fabric] { return read_counters(fabric); }, options.earlier);
  {
    Result<std::unique_ptr<Session>> session = Session::open(fabric, options);
    if (!session) return fail(std::move(session).error());
    note_coverage(**session, report);
    if (options.earlier != nullptr) {
      auto same = check_earlier(*options.earlier, (*session)->topology(), chosen_stages(options));
      if (!same) return fail(same.error());
      go_on_with(*options.earlier, report);
    }
    if (options.live != nullptr) begin_live(**session, *options.live);
    run_stages(**session, report,
               [&] { options.stage_ended(report_so_far(**session, report, course)); });
    counts.conclude(report);  // a link that was lost is left out of the rest
    add_fabric(**session, report);
    add_headlines(report);
  }  // its servers have ended: their processor time is known
  if (test_rest(fabric, options, report)) {
    counts.conclude(report);
    name_places(report);
  }
  report.complete = !options.interrupted();
  course.add_to(report);
  return report;
}

}  // namespace heddle::acceptance
