// `heddle sim sweep`: see sweep_command.h.
#include "apps/cli/sim/sweep_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/sim/params.h"
#include "apps/cli/sim/report.h"
#include "apps/cli/sim/sweep/plan.h"
#include "apps/cli/sim/sweep/results.h"
#include "apps/cli/sim/sweep/run_child.h"
#include "apps/cli/sim/sweep/table.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "engine/cores.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

constexpr const char* kExample = R"(Example:
  heddle sim sweep -o results --topology fabric.toml --workload permutation.toml \
      --vary paths=1,16,128 --vary seed=1..10 --cc swift
  sbatch --array=1-8 --wrap 'heddle sim sweep -o results ... --share auto'
  heddle sim sweep --merge results

Runs every combination of the varied values; other options of heddle sim apply to all runs. Each
finished run adds a line to the folder, and the same command again runs only what is missing.)";

struct SweepOptions {
  std::string folder;
  std::vector<std::string> vary;
  std::string share = "1/1";
  int jobs = 0;
  bool json = false;
  std::vector<std::string> merge;
  SweepInput input;
};

// Starts the runs that are to do, some at once, and keeps what comes of them.
class Sweeping {
 public:
  Sweeping(const std::vector<const SweepRun*>& to_do, SweepWriter& writer, size_t at_once)
      : to_do_(to_do), writer_(writer), at_once_(at_once) {}

  // Errors: what could not be kept, or a run that could not run.
  Result<void> run() {
    ProgressLine progress;
    while (interrupted() == 0) {
      while (under_way_.size() < at_once_ && next_ < to_do_.size() && !failed_) {
        if (Result<void> started = start(*to_do_[next_]); !started) return started;
        ++next_;
      }
      if (under_way_.empty()) break;
      const size_t before = ended_;
      if (Result<void> kept = take_ended(); !kept) return kept;
      if (ended_ == before) usleep(params::sim::kLookEvery_us);
      if (progress.visible()) progress.show(progress_text());
    }
    // What ended at the last moment counts; the rest is ended with this.
    if (Result<void> kept = take_ended(); !kept) return kept;
    if (failed_) return fail(*failed_);
    return {};
  }

 private:
  struct UnderWay {
    const SweepRun* run = nullptr;
    std::unique_ptr<RunChild> child;
  };

  Result<void> start(const SweepRun& run) {
    auto child = RunChild::start(run.words);
    if (!child) return fail(child.error());
    under_way_.push_back({&run, std::move(*child)});
    return {};
  }

  Result<void> take_ended() {
    for (size_t i = 0; i < under_way_.size();) {
      if (!under_way_[i].child->ended()) {
        ++i;
        continue;
      }
      if (Result<void> kept = keep(under_way_[i]); !kept) return kept;
      std::swap(under_way_[i], under_way_.back());
      under_way_.pop_back();
      ++ended_;
    }
    return {};
  }

  Result<void> keep(const UnderWay& done) {
    const int status = done.child->exit_status();
    const auto row = row_of(*done.run, done.child->output(), status);
    if (!done.run->files_are_the_same()) {
      failed_ = Error{ErrorCode::kUnavailable, "a run was not kept",
                      "a topology or workload file has changed since the sweep began",
                      "begin the sweep again: what was kept is of the file as it was"};
      return {};
    }
    if (row && status <= kFoundWrong) return writer_.add(*row);
    if (interrupted() != 0 || failed_) return {};
    // No more are begun: most often the others could not run either.
    std::string words;
    for (const std::string& word : done.run->words) words += " " + word;
    std::string why = done.child->errors();
    while (why.ends_with('\n')) why.pop_back();
    if (why.empty()) why = fmt::format("it ended with status {}", status);
    failed_ = Error{ErrorCode::kSystem, "a run failed", printable(why),
                    "try it alone: heddle" + printable(words)};
    return {};
  }

  std::string progress_text() const {
    std::string text = fmt::format("{} of {}, {} at a time", count_text(ended_),
                                   counted_text(to_do_.size(), "run"), under_way_.size());
    if (ended_ == 0) return text;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began_;
    const double left =
        spent.count() / static_cast<double>(ended_) * static_cast<double>(to_do_.size() - ended_);
    return text + fmt::format(", about {:.0f} s left", left);
  }

  const std::vector<const SweepRun*>& to_do_;
  SweepWriter& writer_;
  const size_t at_once_;
  size_t next_ = 0;
  size_t ended_ = 0;
  std::vector<UnderWay> under_way_;
  std::optional<Error> failed_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

void show(std::vector<json> rows, const std::string& head, bool as_json, size_t wanted) {
  sort_rows(rows);
  if (as_json) {
    const size_t done = rows.size();
    print(json{{"wanted", wanted}, {"done", done}, {"runs", std::move(rows)}}.dump(1) + "\n");
    return;
  }
  const std::string table = sweep_table(rows);
  print(head + "\n" + (table.empty() ? "" : "\n" + table));
}

void warn_of_unreadable(const SweepRows& rows) {
  if (rows.unreadable == 0) return;
  print_warning(counted_text(rows.unreadable, "line") + " of the folder are no results");
}

// Sweeps of other options may lie in one folder: what differs between them counts as varied.
void distinguish(std::vector<json>& rows) {
  std::vector<std::string> names = {"made_by", "topology", "workload"};
  const json options = sim_options({});
  for (const auto& [name, value] : options.items()) {
    if (name != "seed") names.push_back(name);
  }
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const json& row : rows) values.insert(row.value(name, json()).dump());
    if (values.size() < 2) continue;
    for (json& row : rows) {
      if (row["vary"].contains(name)) continue;
      const json value = row.value(name, json());
      row["vary"][name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

int status_of(const std::vector<json>& rows) {
  for (const json& row : rows) {
    if (row.value("exit_status", kDone) != kDone) return kFoundWrong;
  }
  return kDone;
}

Result<int> merge(const SweepOptions& options) {
  for (const std::string& folder : options.merge) {
    if (std::filesystem::is_directory(folder)) continue;
    return fail(ErrorCode::kUnavailable, "cannot read " + folder, "there is no such folder",
                "name a folder of results");
  }
  Result<SweepRows> all = read_sweep(options.merge);
  if (!all) return fail(all.error());
  warn_of_unreadable(*all);
  distinguish(all->rows);
  const size_t count = all->rows.size();
  const int status = status_of(all->rows);
  show(std::move(all->rows), counted_text(count, "run"), options.json, count);
  return status;
}

Result<std::vector<SweepRun>> plan(SweepOptions& options) {
  for (const std::string& text : options.vary) {
    Result<Variation> variation = parse_variation(text);
    if (!variation) return fail(variation.error());
    options.input.variations.push_back(std::move(variation).value());
  }
  if (options.folder.empty()) {
    return fail(ErrorCode::kInvalid, "cannot sweep", "there is no folder for results",
                "name one with -o");
  }
  return plan_sweep(options.input);
}

// What is there of these runs.
std::vector<json> rows_of(const std::vector<SweepRun>& runs, std::vector<json> rows) {
  std::set<std::string> wanted;
  for (const SweepRun& run : runs) wanted.insert(run.key);
  std::erase_if(rows, [&](const json& row) { return !wanted.contains(row["key"]); });
  return rows;
}

Result<int> sweep(SweepOptions options) {
  if (!options.merge.empty()) return merge(options);
  const Result<std::vector<SweepRun>> runs = plan(options);
  if (!runs) return fail(runs.error());
  const Result<Share> share = parse_share(options.share, [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  });
  if (!share) return fail(share.error());
  catch_interrupts();
  const auto writer = SweepWriter::open(options.folder, *share);
  if (!writer) return fail(writer.error());
  Result<SweepRows> known = read_sweep({options.folder});
  if (!known) return fail(known.error());
  warn_of_unreadable(*known);
  std::set<std::string> done;
  for (const json& row : known->rows) done.insert(row["key"].get<std::string>());
  std::vector<const SweepRun*> to_do;
  for (size_t i = share->index; i < runs->size(); i += share->count) {
    if (!done.contains((*runs)[i].key)) to_do.push_back(&(*runs)[i]);
  }
  const int jobs = options.jobs > 0 ? options.jobs : engine::usable_cores();
  const Result<void> swept = Sweeping(to_do, **writer, static_cast<size_t>(jobs)).run();
  Result<SweepRows> all = read_sweep({options.folder});
  if (!all) return fail(all.error());
  std::vector<json> rows = rows_of(*runs, std::move(all->rows));
  const int status = status_of(rows);
  const std::string head = fmt::format("{} of {} are in {}", count_text(rows.size()),
                                       counted_text(runs->size(), "run"), options.folder);
  show(std::move(rows), head, options.json, runs->size());
  if (interrupted() != 0) return interrupted_exit_status();
  if (!swept) return fail(swept.error());
  return status;
}

int run_sweep(const SweepOptions& options) {
  const Result<int> status = sweep(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_sweep_command(CLI::App& sim, Invocation& invocation) {
  CLI::App* const sweep =
      sim.add_subcommand("sweep", "run simulations that differ in their options, and compare them");
  sweep->footer(kExample + exit_status_help("in some runs flows did not arrive or arrived changed",
                                            "some runs could not run"));
  sweep->allow_extras();
  const auto options = std::make_shared<SweepOptions>();
  add_output_folder(*sweep, options->folder, "the folder for results; it is made");
  add_topology_option(*sweep, options->input.topology, "as for heddle sim");
  sweep->add_option("--workload", options->input.workload, "as for heddle sim")->type_name("FILE");
  sweep
      ->add_option("--vary", options->vary,
                   "an option of heddle sim and its values: paths=1,16 or seed=1..10; may be given "
                   "several times")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  sweep->add_option("--jobs", options->jobs, "number of runs at once")
      ->type_name("N")
      ->check(whole_number(1, 4096))
      ->default_str("one a core");
  sweep
      ->add_option("--share", options->share,
                   "run only the I-th of N shares; auto: as Slurm or Open MPI number this process")
      ->type_name("I/N")
      ->default_str("all runs");
  sweep->add_option("--merge", options->merge, "run nothing; show what these folders hold")
      ->type_name("FOLDER");
  add_json_option(*sweep, options->json);
  sweep->callback([options, sweep, &invocation] {
    options->input.others = sweep->remaining();
    invocation.run = [options] { return run_sweep(*options); };
  });
}

}  // namespace heddle::cli
