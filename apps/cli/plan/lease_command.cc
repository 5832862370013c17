// `heddle plan lease`: see lease_command.h. What a lease is and when it moves is in leases/.
#include "apps/cli/plan/lease_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/plan/lease_turns.h"
#include "apps/cli/plan/params.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/plan/plan_inputs.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/temporary_folder.h"
#include "launch/child.h"
#include "leases/params.h"
#include "leases/store.h"
#include "leases/tenant.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan lease --leases /shared/leases --job a --topology fabric.toml --matrix a.csv \
      --addresses hosts.txt -o /shared/a.json -- heddle run --via ssh --hosts h0,h1 -- train.sh
  heddle plan lease --leases etcd:10.0.0.1:2379 --job b --topology fabric.toml --recording job \
      --addresses hosts.txt --ttl 30s -- train.sh
  heddle plan leases --leases /shared/leases

Plans the job beside the leases of all jobs that run now, publishes its own, and runs the command
with HEDDLE_PLAN. The lease is renewed three times within its time to live; it ends with the
command. When other jobs come or go and the most loaded of its links would take a tenth less time,
the plan file is replaced; connections follow it at once, or within a minute on a file server.)";

struct LeaseOptions {
  PlanInputs inputs;
  std::string store;
  std::string job;
  std::string ttl = "60s";
  std::string output;
  std::vector<std::string> words;
};

int own_failure(const Error& error) {
  print_error(error);
  return kProgramFailed;
}

// Loads of other jobs may be any number.
std::string time_text(double ns) {
  constexpr double kMost = 9e18;
  return duration_text(nanos(static_cast<int64_t>(std::clamp(ns, 0.0, kMost))));
}

// What counters forecast, without what leases have planned.
class LeasedBackground {
 public:
  explicit LeasedBackground(const ReadPlanInputs& read) : read_(read) {}

  bool known() const { return !read_.background.file.empty(); }
  const std::optional<Background>& last() const { return last_; }
  nlohmann::json json() const { return last_ ? background_json(*last_) : nlohmann::json(); }
  // The counters are read anew; where that fails later on, what they were counts.
  Result<std::vector<double>> beside(const leases::Snapshot& snapshot) {
    Result<Background> background = read_background(read_.background, read_.topology, read_.demand,
                                                    read_.options, snapshot.live);
    if (!background && !last_) return fail(background.error());
    if (background) last_ = std::move(*background);
    return last_->bytes;
  }

 private:
  const ReadPlanInputs& read_;
  std::optional<Background> last_;
};

// A job with its lease and its plan file.
class LeasedJob {
 public:
  LeasedJob(leases::Tenant& tenant, const ReadPlanInputs& read, const LeasedBackground& background,
            std::string file)
      : tenant_(tenant), read_(read), background_(background), file_(std::move(file)) {}

  Result<void> begin() {
    if (Result<void> taken = tenant_.take(); !taken) {
      static_cast<void>(tenant_.release());  // what of it may have been published
      return taken;
    }
    Result<void> written = write_plan();
    if (!written) end();
    if (written) print_state();
    return written;
  }
  // Renews the lease, and says what has changed.
  void turn() {
    const Result<leases::Turn> turn = tenant_.turn();
    owed_ = owed_ || (turn && *turn == leases::Turn::kMoved);
    if (owed_) write_owed();
    if (turn) {
      warned_ = false;
      say(*turn);
    } else {
      warn_of(turn.error());
    }
  }
  void end() {
    if (Result<void> released = tenant_.release(); !released) {
      print_warning(released.error().message());
    }
  }

 private:
  void say(leases::Turn turn) {
    const std::string& job = tenant_.lease().job;
    switch (turn) {
      case leases::Turn::kKept:
        return;
      case leases::Turn::kMoved:
        print_progress(fmt::format("lease '{}': moved, the most loaded link takes {} instead of {}",
                                   job, time_text(tenant_.longest()),
                                   time_text(tenant_.longest_before_move())));
        print_state();
        return;
      case leases::Turn::kTakenAnew:
        lost_ = false;
        print_warning(
            fmt::format("the lease '{}' was lost: it was not renewed in time, or was "
                        "removed. It is taken again",
                        job));
        return;
      case leases::Turn::kLost:
        if (std::exchange(lost_, true)) return;
        print_warning(
            fmt::format("the lease '{}' is lost: it was not renewed in time, and "
                        "another job has the name now. The command runs on, and no "
                        "job takes its links into account until the name is free",
                        job));
        return;
    }
  }
  // The lease has another plan than the file. Once while it lasts.
  void write_owed() {
    const Result<void> written = write_plan();
    owed_ = !written;
    if (owed_ && !unwritten_) print_warning(written.error().message());
    if (!owed_ && unwritten_) {
      print_progress(fmt::format("lease '{}': its plan is written", tenant_.lease().job));
    }
    unwritten_ = owed_;
  }
  Result<void> write_plan() const {
    const std::string document =
        plan_document({tenant_.plan(), read_.demand, read_.topology, read_.options.failed_links,
                       read_.addresses, background_.json()})
            .dump(1);
    return replace_text_file(file_, document + "\n");
  }
  void print_state() {
    for (const std::string& note : tenant_.notes()) {
      if (noted_.insert(note).second) print_warning(note + ", and is ignored");
    }
    if (background_.last()) {
      for (const std::string& note : background_.last()->notes) {
        if (noted_.insert(note).second) print_warning(note);
      }
      std::string text = background_text(*background_.last());
      text.pop_back();
      print_progress(text);
    }
    const planner::PathPlan& plan = tenant_.plan();
    print_progress(fmt::format(
        "lease '{}': planned beside {}; the most loaded link takes {} with ECMP, {} with the plan",
        tenant_.lease().job, counted_text(tenant_.beside(), "other job"),
        time_text(plan.ecmp.longest()), time_text(tenant_.longest())));
    if (plan.unreachable == 0) return;
    const std::string parts = counted_text(plan.unreachable, "part") + " of flows";
    const std::string note = fmt::format(
        "{} cannot reach their receivers over links that work, and are not planned", parts);
    if (noted_.insert(note).second) print_warning(note);
  }
  // Once while it lasts.
  void warn_of(const Error& error) {
    if (!std::exchange(warned_, true)) {
      print_warning(fmt::format("the lease '{}' could not be renewed: {}", tenant_.lease().job,
                                error.message()));
    }
  }

  leases::Tenant& tenant_;
  const ReadPlanInputs& read_;
  const LeasedBackground& background_;
  std::string file_;
  std::set<std::string> noted_;
  bool warned_ = false;
  bool lost_ = false;
  bool owed_ = false;       // the file does not have the plan of the lease
  bool unwritten_ = false;  // and was said not to
};

Result<leases::TenantSetting> setting_of(const LeaseOptions& options, const ReadPlanInputs& read) {
  leases::TenantSetting setting{.job = options.job,
                                .ttl = {},
                                .period = read.background.period,
                                .demand = read.demand,
                                .background = {},
                                .options = read.options};
  const Result<Nanos> ttl = parse_duration(options.ttl);
  if (!ttl) return fail(ttl.error());
  setting.ttl = *ttl;
  if (*ttl > seconds(86'400)) {
    return fail(ErrorCode::kInvalid, "cannot use the time to live " + options.ttl,
                "it is longer than a day",
                "give a shorter one: the links of a lost job stay reserved for this time");
  }
  return setting;
}

// The file of the plan: as named, or in a new folder.
Result<std::string> plan_file_of(const LeaseOptions& options, TemporaryFolder& own) {
  std::error_code unknown;
  if (!options.output.empty()) {
    return std::filesystem::absolute(options.output, unknown).string();
  }
  Result<TemporaryFolder> made = TemporaryFolder::make("heddle-lease");
  if (!made) return fail(made.error());
  own = std::move(*made);
  return own.path() + "/plan.json";
}

// All that turns use: they may hang in a store when the command has ended.
struct Held {
  ReadPlanInputs read;
  std::unique_ptr<leases::Store> store;
  std::optional<LeasedBackground> background;
  std::optional<leases::Tenant> tenant;
  std::optional<LeasedJob> job;
  TemporaryFolder own;
  std::string file;
};

Result<std::shared_ptr<Held>> take_lease(const LeaseOptions& options) {
  auto held = std::make_shared<Held>();
  if (Result<void> good = check_output(options.inputs, options.output); !good) {
    return fail(good.error());
  }
  Result<ReadPlanInputs> read = read_plan_inputs(options.inputs);
  if (!read) return fail(read.error());
  held->read = std::move(*read);
  for (const std::string& note : held->read.notes) print_warning(note);
  if (held->read.addresses.empty()) {
    print_warning("without --addresses no connection of a real network can follow the plan");
  }
  Result<leases::TenantSetting> setting = setting_of(options, held->read);
  if (!setting) return fail(setting.error());
  Result<std::unique_ptr<leases::Store>> store = leases::open_store(options.store);
  if (!store) return fail(store.error());
  held->store = std::move(*store);
  const Result<std::string> file = plan_file_of(options, held->own);
  if (!file) return fail(file.error());
  held->file = *file;
  LeasedBackground& background = held->background.emplace(held->read);
  if (background.known()) {
    setting->background = [&background](const leases::Snapshot& snapshot) {
      return background.beside(snapshot);
    };
  }
  held->tenant.emplace(*held->store, held->read.topology, std::move(*setting));
  held->job.emplace(*held->tenant, held->read, background, held->file);
  if (Result<void> begun = held->job->begin(); !begun) return fail(begun.error());
  return held;
}

// The thread goes on with what this process has: nothing of it may be destroyed.
[[noreturn]] void end_beside_turns(const LeaseOptions& options, Held& held, int status) {
  print_warning(
      fmt::format("the lease '{}' was not released within {:.0f} s: its store does not "
                  "answer. It expires by itself",
                  options.job, to_seconds(params::plan::kMostEnd)));
  held.own.remove();
  std::fflush(nullptr);
  _exit(status);
}

Result<int> hold_lease(const LeaseOptions& options) {
  catch_interrupts();
  Result<std::shared_ptr<Held>> held = take_lease(options);
  if (!held) return fail(held.error());
  LeasedJob& job = *(*held)->job;
  const Nanos interval = (*held)->tenant->lease().ttl / leases::params::kRenewals;
  Result<LeaseTurns> turns = LeaseTurns::start(
      {.interval = interval, .turn = [&job] { job.turn(); }, .end = [&job] { job.end(); }});
  if (!turns) {
    job.end();
    return fail(turns.error());
  }
  const launch::ChildEnd ended = launch::run_child(options.words, {"HEDDLE_PLAN=" + (*held)->file});
  if (ended.failure) print_error(*ended.failure);
  if (!turns->stop(params::plan::kMostEnd)) end_beside_turns(options, **held, ended.exit_status);
  return ended.exit_status;
}

int run_lease(const LeaseOptions& options) {
  try {
    const Result<int> status = hold_lease(options);
    if (status) return *status;
    if (interrupted() != 0) {
      print_error(status.error());
      return interrupted_exit_status();
    }
    return own_failure(status.error());
  } catch (const std::exception& error) {
    return own_failure({ErrorCode::kExhausted, "the lease '" + options.job + "' was not taken",
                        error.what(), "see `ulimit -a`"});
  }
}

}  // namespace

void add_lease_command(CLI::App& plan, Invocation& invocation) {
  CLI::App* const lease =
      plan.add_subcommand("lease", "run a job with a plan beside all jobs that run now");
  lease->footer(kExample + program_status_help("N the command's exit status"));
  lease->positionals_at_end();
  const auto options = std::make_shared<LeaseOptions>();
  lease
      ->add_option("--leases", options->store,
                   "where jobs publish: a folder that their hosts share, or etcd:HOST:PORT "
                   "(required)")
      ->type_name("FOLDER|etcd:HOST:PORT");
  lease->add_option("--job", options->job, "the job's name, which no other job has (required)")
      ->type_name("NAME");
  add_plan_inputs(*lease, options->inputs);
  lease->add_option("-o,--output", options->output, "write the plan to this file")
      ->type_name("FILE")
      ->default_str("a temporary file");
  lease
      ->add_option("--ttl", options->ttl,
                   "time to live of the lease where nothing renews it, as after a crash")
      ->type_name("DURATION")
      ->check(duration_value(seconds(1)))
      ->capture_default_str();
  add_program(*lease, options->words);
  lease->callback([options, &invocation] {
    for (const auto& [name, value] : {std::pair("--leases", &options->store),
                                      {"--job", &options->job},
                                      {"--topology", &options->inputs.topology}}) {
      if (value->empty()) throw CLI::RequiredError(name);
    }
    if (options->words.empty()) throw CLI::RequiredError("the command, behind --,");
    invocation.run = [options] { return run_lease(*options); };
  });
}

}  // namespace heddle::cli
