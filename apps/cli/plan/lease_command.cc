// `heddle plan lease`: see lease_command.h. What a lease is and when it moves is in leases/.
#include "apps/cli/plan/lease_command.h"

#include <fmt/format.h>

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
  heddle plan lease --store /shared/leases --job a --topology fabric.toml --matrix a.csv \
      --addresses hosts.txt -o /shared/a.json -- heddle run --via ssh --hosts h0,h1 -- train.sh
  heddle plan lease --store etcd:10.0.0.1:2379 --job b --topology fabric.toml --recording job \
      --addresses hosts.txt --ttl 30s -- train.sh
  heddle plan leases --store /shared/leases

Plans the job beside the leases of all jobs that run now, publishes its own, and runs the command
with HEDDLE_PLAN. The lease is renewed three times within its time to live; it ends with the
command. When other jobs come or go and the most loaded of its links would take a tenth less time,
the plan file is replaced; connections look at it once a minute.)";

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
    if (!turn) return warn_of(turn.error());
    warned_ = false;
    const std::string& job = tenant_.lease().job;
    switch (*turn) {
      case leases::Turn::kKept:
        return;
      case leases::Turn::kMoved:
        print_progress(
            fmt::format("lease '{}': moved, the most loaded link takes {} instead of {}", job,
                        duration_text(nanos(static_cast<int64_t>(tenant_.longest()))),
                        duration_text(nanos(static_cast<int64_t>(tenant_.longest_before_move())))));
        break;
      case leases::Turn::kTakenAnew:
        print_warning(
            fmt::format("the lease '{}' was lost: it was not renewed in time, or was "
                        "removed. It is taken again with a new plan",
                        job));
        break;
      case leases::Turn::kLost:
        if (!std::exchange(lost_, true)) {
          print_warning(
              fmt::format("the lease '{}' is lost: it was not renewed in time, and "
                          "another job has the name now. The command runs on, and no "
                          "job takes its links into account",
                          job));
        }
        return;
    }
    if (Result<void> written = write_plan(); !written) print_warning(written.error().message());
    print_state();
  }
  void end() {
    if (Result<void> released = tenant_.release(); !released) {
      print_warning(released.error().message());
    }
  }

 private:
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
        duration_text(nanos(static_cast<int64_t>(plan.ecmp.longest()))),
        duration_text(nanos(static_cast<int64_t>(plan.planned.longest())))));
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
                "give a shorter one: a lost job holds its links so long");
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

Result<int> hold_lease(const LeaseOptions& options) {
  catch_interrupts();
  const Result<ReadPlanInputs> read = read_plan_inputs(options.inputs);
  if (!read) return fail(read.error());
  for (const std::string& note : read->notes) print_warning(note);
  if (read->addresses.empty()) {
    print_warning("without --addresses no connection of a real network can follow the plan");
  }
  Result<leases::TenantSetting> setting = setting_of(options, *read);
  if (!setting) return fail(setting.error());
  const Nanos interval = setting->ttl / leases::params::kRenewals;
  const Result<std::unique_ptr<leases::Store>> store = leases::open_store(options.store);
  if (!store) return fail(store.error());
  TemporaryFolder own;
  const Result<std::string> file = plan_file_of(options, own);
  if (!file) return fail(file.error());
  LeasedBackground background(*read);
  if (background.known()) {
    setting->background = [&background](const leases::Snapshot& snapshot) {
      return background.beside(snapshot);
    };
  }
  leases::Tenant tenant(**store, read->topology, std::move(*setting));
  LeasedJob job(tenant, *read, background, *file);
  if (Result<void> begun = job.begin(); !begun) return fail(begun.error());
  const launch::ChildEnd ended = launch::run_child(options.words, {"HEDDLE_PLAN=" + *file},
                                                   {interval, [&job] { job.turn(); }});
  job.end();
  if (ended.failure) print_error(*ended.failure);
  return ended.exit_status;
}

int run_lease(const LeaseOptions& options) {
  const Result<int> status = hold_lease(options);
  if (status) return *status;
  if (status.error().code == ErrorCode::kCancelled && interrupted() != 0) {
    print_error(status.error());
    return interrupted_exit_status();
  }
  return own_failure(status.error());
}

}  // namespace

void add_lease_command(CLI::App& plan, Invocation& invocation) {
  CLI::App* const lease =
      plan.add_subcommand("lease", "run a job with a plan beside all jobs that run now");
  lease->footer(kExample + program_status_help("N the command's exit status"));
  lease->positionals_at_end();
  const auto options = std::make_shared<LeaseOptions>();
  lease
      ->add_option("--store", options->store,
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
    for (const auto& [name, value] : {std::pair("--store", &options->store),
                                      {"--job", &options->job},
                                      {"--topology", &options->inputs.topology}}) {
      if (value->empty()) throw CLI::RequiredError(name);
    }
    if (options->words.empty()) throw CLI::RequiredError("the command, behind --,");
    invocation.run = [options] { return run_lease(*options); };
  });
}

}  // namespace heddle::cli
