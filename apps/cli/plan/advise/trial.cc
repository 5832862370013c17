// See trial.h.
#include "apps/cli/plan/advise/trial.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "apps/cli/plan/advise/slowed_fabric.h"
#include "apps/cli/plan/params.h"
#include "apps/cli/sim/sweep/run_child.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/temporary_folder.h"
#include "lab/lab.h"
#include "lab/rights.h"
#include "topology/file_text.h"
#include "topology/job_text.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

Unexpected not_tried(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kSystem, "cannot try a change for real", why, todo);
}

// What one contestant runs: a file, and the number of its paths.
struct Contestant {
  std::string file;
  uint16_t paths = 16;
  double steps = 1;
  std::vector<double> step_s;  // by round
};

// The job on its hosts, with its steps repeated and its computation slowed.
std::string workload_text(topology::Job job, const topology::Topology& topology, double slowing) {
  for (topology::Program& program : job.programs) {
    program.repeat = params::plan::kStepsSimulated;
    for (topology::Action& action : program.actions) {
      action.span = nanos(static_cast<int64_t>(static_cast<double>(action.span.count) * slowing));
    }
  }
  std::string hosts;
  for (const topology::JobRank& rank : job.ranks) {
    hosts += (hosts.empty() ? "\"" : ", \"") + topology.hosts[rank.host].name + "\"";
  }
  const std::string begin = "[[job]]\n";
  std::string text = topology::job_text(job);
  text.insert(begin.size(), "hosts = [" + hosts + "]\n");
  return fmt::format("version = {}\n", topology::kWorkloadFileVersion) + text;
}

// A lab that is taken down in the end.
class TrialLab {
 public:
  static Result<TrialLab> up(const std::string& file) {
    lab::UpOptions options{
        .topology_file = file, .name = fmt::format("advise-{}", getpid()), .owned = true};
    const Result<lab::Lab> lab = lab::bring_up(options, [] { return interrupted() != 0; });
    if (!lab) return fail(lab.error());
    return TrialLab(options.name);
  }
  TrialLab(TrialLab&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  TrialLab& operator=(TrialLab&&) = delete;
  ~TrialLab() {
    if (!name_.empty()) static_cast<void>(lab::take_down(name_));
  }
  const std::string& name() const { return name_; }

 private:
  explicit TrialLab(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// The median step of a run's document, in seconds.
Result<double> step_of(const std::string& output) {
  const nlohmann::json document = nlohmann::json::parse(output, nullptr, false);
  std::vector<double> times;
  if (document.is_object() && document.contains("jobs") && !document["jobs"].empty()) {
    for (const nlohmann::json& step : document["jobs"][0].value("steps", nlohmann::json::array())) {
      times.push_back(step.value("took_us", 0.0) * 1e-6);
    }
  }
  if (times.empty()) return not_tried("a run has no steps", "try again");
  std::sort(times.begin(), times.end());
  return times[(times.size() - 1) / 2];
}

Result<double> run_once(const Contestant& contestant, const StepTransport& transport,
                        const std::string& lab, uint32_t round) {
  auto child = RunChild::start({"workload", "run", contestant.file, "--lab", lab, "--cc",
                                transport.congestion, "--selector", transport.selector, "--paths",
                                std::to_string(contestant.paths), "--seed",
                                std::to_string(round + 1), "--json"});
  if (!child) return fail(child.error());
  while (!(*child)->ended()) {
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "the trial was stopped", "a signal came", "");
    }
    usleep(params::plan::kPollEvery_us);
  }
  if ((*child)->exit_status() != kDone) {
    std::string why = (*child)->errors();
    while (why.ends_with('\n')) why.pop_back();
    return not_tried(why.empty()
                         ? fmt::format("a run ended with status {}", (*child)->exit_status())
                         : printable(why),
                     "leave out --try for what is simulated alone");
  }
  return step_of((*child)->output());
}

// Places of the changes that are tried.
std::vector<size_t> chosen(const Advised& advised, uint32_t most) {
  std::vector<size_t> places;
  for (size_t i = 0; i < advised.changes.size() && places.size() < most; ++i) {
    const AdvisedChange& change = advised.changes[i];
    const bool runs = change.candidate.change && !change.candidate.planned;
    if (change.why == planner::NoAdvantage::kGains && runs) places.push_back(i);
  }
  return places;
}

Result<std::vector<Contestant>> contestants_of(const RecordedSetting& setting,
                                               const StepTransport& transport,
                                               const Advised& advised,
                                               const std::vector<size_t>& places,
                                               const std::string& folder) {
  const topology::Job& job = setting.steps.jobs[setting.steps.jobs.size() / 2];
  std::vector<Contestant> contestants;
  const auto add = [&](const topology::Job& changed, uint16_t paths, double steps) -> Result<void> {
    Contestant made{fmt::format("{}/{}.toml", folder, contestants.size()), paths, steps, {}};
    const std::string text = workload_text(changed, setting.topology, advised.slowed);
    if (Result<void> written = write_text_file(made.file, text); !written) return written;
    contestants.push_back(std::move(made));
    return {};
  };
  if (Result<void> added = add(job, transport.paths, 1); !added) return fail(added.error());
  for (const size_t place : places) {
    const Candidate& candidate = advised.changes[place].candidate;
    Result<void> added =
        add(candidate.change(job), candidate.paths.value_or(transport.paths), candidate.steps);
    if (!added) return fail(added.error());
  }
  return contestants;
}

Result<std::string> fabric_file(const RecordedSetting& setting, const TrialOptions& options,
                                double slowing, const std::string& folder) {
  if (slowing <= 1 && !options.topology.empty()) return options.topology;
  std::string file = folder + "/fabric.toml";
  const std::string text = topology::topology_text(slowed(setting.topology, slowing));
  if (Result<void> written = write_text_file(file, text); !written) return fail(written.error());
  return file;
}

Result<void> check_length(const Advised& advised, size_t contestants, uint32_t rounds) {
  const double lasts_s = advised.facts.step_s * advised.slowed * params::plan::kStepsSimulated *
                         static_cast<double>(contestants * rounds);
  if (lasts_s <= params::plan::kLongestTrial_s) return {};
  return fail(ErrorCode::kInvalid, "cannot try changes for real",
              fmt::format("steps would take {:.0f} s together: this machine carries the fabric's "
                          "rates slowed by {:.0f}",
                          lasts_s, advised.slowed),
              fmt::format("at most {:.0f} s are allowed: try fewer changes, or leave out --try",
                          params::plan::kLongestTrial_s));
}

}  // namespace

Result<void> prepare_trial(const TrialOptions& options) {
  return options.changes > 0 ? lab::get_rights() : Result<void>();
}

Result<void> try_changes(const RecordedSetting& setting, const StepTransport& transport,
                         const TrialOptions& options, Advised& advised) {
  const std::vector<size_t> places = chosen(advised, options.changes);
  if (places.empty()) return {};
  advised.slowed = slowing_of(setting.topology);
  if (Result<void> fits = check_length(advised, places.size() + 1, options.rounds); !fits) {
    return fits;
  }
  const Result<TemporaryFolder> folder = TemporaryFolder::make("heddle-advise");
  if (!folder) return fail(folder.error());
  Result<std::vector<Contestant>> contestants =
      contestants_of(setting, transport, advised, places, folder->path());
  if (!contestants) return fail(contestants.error());
  const auto file = fabric_file(setting, options, advised.slowed, folder->path());
  if (!file) return fail(file.error());
  const Result<TrialLab> lab = TrialLab::up(*file);
  if (!lab) return fail(lab.error());
  ProgressLine progress;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    for (Contestant& each : *contestants) {
      if (progress.visible()) {
        progress.show(fmt::format("trying for real, round {} of {}", round + 1, options.rounds));
      }
      const Result<double> step = run_once(each, transport, lab->name(), round);
      if (!step) return fail(step.error());
      each.step_s.push_back(*step / each.steps);
    }
  }
  advised.rounds = options.rounds;
  advised.real_step_s = contestants->front().step_s;
  for (size_t i = 0; i < places.size(); ++i) {
    advised.changes[places[i]].tried =
        planner::gain_of(advised.real_step_s, (*contestants)[i + 1].step_s);
  }
  return {};
}

}  // namespace heddle::cli
