// `heddle monitor`: see monitor_command.h. What is watched, and how, is in monitor/.
#include "apps/cli/monitor_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/json.h"
#include "apps/cli/monitor/gpu_watch.h"
#include "apps/cli/monitor/live_page.h"
#include "apps/cli/monitor/monitor_options.h"
#include "apps/cli/monitor/overview_run.h"
#include "apps/cli/monitor/plan_delivery.h"
#include "apps/cli/monitor/shown_state.h"
#include "apps/cli/monitor/site_output.h"
#include "apps/cli/pages/pages.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "base/quantity.h"
#include "base/temporary_folder.h"
#include "lab/run.h"
#include "metrics/server.h"
#include "monitor/hook.h"
#include "monitor/watch.h"
#include "monitor/webhook.h"
#include "steering/counts.h"
#include "steering/driver.h"
#include "steering/never_met.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce -n 100000
  heddle monitor job                                      in another terminal
  heddle monitor job --hosts node1,node2 --serve 18705 -o copy
  heddle monitor job --hosts node1,node2 --plan plan.json
  heddle monitor job --webhook https://chat.example/hook
  heddle monitor job --on-change ./open_ticket.sh
  heddle monitor job --json | jq -r 'select(.event == "raised") | .summary'
  heddle monitor job --publish nats://nats.example/site   and so for each job of a site
  heddle monitor --site nats://nats.example/site          the faults of all of them
  heddle monitor job --clickhouse clickhouse://ch.example/heddle
  heddle monitor job --policy steer.toml                  prints what it would do
  heddle monitor job --policy steer.toml --act --audit /var/log/heddle/steering.jsonl
  heddle monitor --gpus --serve 18707                     GPUs of this machine, for Prometheus

The job runs on undisturbed, whatever happens to its monitor. With --hosts its recordings are on
other machines, each in the folder of that name there; they are copied while they are written, and
with -o the copies are kept. --serve shows a page at /, the same as JSON at /state.json, and
metrics for Prometheus at /metrics.
--plan FILE keeps a plan of `heddle plan --addresses` on those machines, as the file of --plan-file
there, and whenever FILE is replaced the new one: a job whose HEDDLE_PLAN names that file follows
it. One that is broken is refused, and the one before stays, as it does without its monitor.
--on-change runs a command of the shell for each fault that begins or ends, with it as JSON on
standard input; --webhook sends the same to an address of HTTP, and again up to four times, within
15 s, where it is not taken. An address that is a secret is the first line of a file: --webhook
@FILE. The watch ends with the job.
--publish sends each change, the job's state and series of its ranks to a server of NATS, under
SUBJECT.JOB.ID; --site shows what monitors have published there, and marks a job stale whose monitor
is silent. User and password, or a token, are read from --nats-access FILE, or from
HEDDLE_NATS_USER and HEDDLE_NATS_PASSWORD, or HEDDLE_NATS_TOKEN. Without its server the watch goes
on; what waits too long is dropped, and how much is said. --clickhouse keeps the same in tables of a
ClickHouse database; user and password are those of `heddle record export`.
--node-records names the folder of `heddle agent serve` on the job's machines: what they reported
before the job and beside it is evidence of its faults.
--policy decides by a file what is done about which fault: drain a node of Slurm, set a condition or
a taint of a Kubernetes node, run a command. Without --act that is printed and nothing is done. With
it an active test confirms the fault first, limits hold, and each decision is a line of the audit
log, which monitors of several jobs may share.
--gpus reads utilization, memory, power, temperature and clocks of this machine's GPUs by
nvidia-smi. A reading that fails is reported, and the watch goes on.)";

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class Monitor {
 public:
  explicit Monitor(const MonitorOptions& options) : options_(options) {}

  Result<int> run() {
    lab::note_signals();
    signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of print()
    Result<monitor::WatchOptions> watch = watch_options();
    if (!watch) return fail(std::move(watch).error());
    shown_.set({.job = job_name()});
    if (auto plan = serve_plan(*watch); !plan) return fail(std::move(plan).error());
    if (auto gpus = read_gpus(); !gpus) return fail(std::move(gpus).error());
    if (auto serving = serve(); !serving) return fail(std::move(serving).error());
    if (!options_.on_change.empty()) {
      hook_.emplace(options_.on_change, [this](const std::string& text) { warn(text); });
    }
    if (auto webhook = open_webhook(); !webhook) return fail(std::move(webhook).error());
    if (auto made = publish(); !made) return fail(std::move(made).error());
    if (auto steering = steer(); !steering) return fail(std::move(steering).error());
    const Result<monitor::WatchState> state = monitor::watch(*watch);
    line_.clear();
    if (!state) return fail(state.error());
    finish_hooks();
    if (driver_) driver_->finish(steady_now, [] { return lab::noted_signal() != 0; });
    driver_.reset();
    if (site_) site_->finish([] { return lab::noted_signal() != 0; });
    if (lab::noted_signal() != 0) return 128 + lab::noted_signal();
    if (auto printed = check_output(); !printed) return fail(printed.error());
    print(options_.json ? dumped(Json{{"event", "over"},
                                      {"job_ns", state->now_ns},
                                      {"alarms_raised", state->alarms_raised},
                                      {"whole", state->whole}}) +
                              "\n"
                        : over_text(*state));
    return state->alarms_raised > 0 ? kFoundWrong : kDone;
  }

 private:
  std::string job_name() const { return std::filesystem::path(whole_path()).filename().string(); }

  std::string whole_path() const {
    return monitor::whole_folder(options_.folder, options_.hosts.empty());
  }

  // Without links, so that an audit log knows it by whichever path.
  std::string path_without_links() const {
    std::error_code none;
    const std::filesystem::path path = std::filesystem::weakly_canonical(whole_path(), none);
    return none ? whole_path() : path.string();
  }

  Result<monitor::WatchOptions> watch_options() {
    monitor::WatchOptions made{
        .folder = options_.folder, .hosts = {}, .shell = {}, .copies = {}, .interrupted = [this] {
          poll_hooks();
          if (driver_) driver_->poll(steady_now());
          if (site_) site_->poll(steady_now());
          if (gpus_) gpus_->poll(steady_now());
          if (plan_) poll_plan();
          return lab::noted_signal() != 0 || !check_output();
        }};
    made.node_records = options_.node_records;
    made.every = *parse_duration(options_.every);
    made.series_every = *parse_duration(options_.series_every);
    made.sampled = [this](const monitor::WatchDocument& document,
                          const monitor::SeriesInterval& interval) {
      if (site_) site_->sample(document, interval);
    };
    made.changed = [this](const monitor::AlarmChange& change, const monitor::WatchState& state) {
      take(change, state);
    };
    made.looked = [this](const monitor::WatchDocument& document) { take(document); };
    made.warned = [this](const std::string& text) { warn(text); };
    if (options_.hosts.empty()) return made;
    const Result<launch::RemoteShell> shell = launch::parse_remote_shell(options_.via);
    if (!shell) return fail(shell.error());
    Result<std::vector<launch::RemoteHost>> hosts = launch::parse_remote_hosts(options_.hosts);
    if (!hosts) return fail(std::move(hosts).error());
    made.shell = *shell;
    made.hosts = std::move(*hosts);
    for (const launch::RemoteHost& each : made.hosts) host_names_.push_back(each.name);
    Result<std::string> copies = copies_folder();
    if (!copies) return fail(std::move(copies).error());
    made.copies = std::move(*copies);
    return made;
  }

  Result<std::string> copies_folder() {
    if (options_.copies.empty()) {
      Result<TemporaryFolder> made = TemporaryFolder::make("heddle-monitor");
      if (!made) return fail(std::move(made).error());
      passing_ = std::move(*made);
      return passing_.path();
    }
    std::error_code error;
    if (std::filesystem::create_directory(options_.copies, error)) return options_.copies;
    return fail(ErrorCode::kInUse, "cannot make the folder " + options_.copies,
                error ? error.message() : "it is there", "give a new one with -o");
  }

  Result<void> serve_plan(const monitor::WatchOptions& watch) {
    if (options_.plan.empty()) return {};
    Result<std::unique_ptr<PlanDelivery>> made =
        PlanDelivery::make({.file = options_.plan,
                            .target = options_.plan_target.empty() ? options_.folder + ".plan.json"
                                                                   : options_.plan_target,
                            .shell = watch.shell,
                            .hosts = watch.hosts,
                            .noted = [this](const std::string& text) { note(text); },
                            .warned = [this](const std::string& text) { warn(text); }});
    if (!made) return fail(std::move(made).error());
    plan_ = std::move(*made);
    shown_.set_plan(plan_->state());
    return {};
  }

  void poll_plan() {
    plan_->poll(steady_now());
    plan_->show_changes([this](Json state) { shown_.set_plan(std::move(state)); });
  }

  Result<void> read_gpus() {
    if (!options_.gpus) return {};
    Result<std::unique_ptr<GpuWatch>> made =
        GpuWatch::make(own_host(), *parse_duration(options_.gpus_every),
                       [this](const std::string& text) { warn(text); });
    if (!made) return fail(std::move(made).error());
    gpus_ = std::move(*made);
    shown_.set(gpus_.get());
    return {};
  }

  Result<void> serve() {
    Result<std::unique_ptr<metrics::Server>> server =
        cli::serve({.address = options_.serve,
                    .token_file = options_.token_file,
                    .page = kMonitorPage,
                    .title = job_name(),
                    .families = [this] { return shown_.families(); },
                    .state = [this] { return shown_.state(); }});
    if (!server) return fail(std::move(server).error());
    server_ = std::move(*server);
    return {};
  }

  Result<void> publish() {
    if (options_.site.publish.empty() && options_.site.store.empty()) return {};
    monitor::PublishedJob job{.name = options_.name.empty() ? job_name() : options_.name,
                              .host = own_host(),
                              .folder = whole_path(),
                              .hosts = host_names_,
                              .run_ns = wall_now().count,
                              .every = *parse_duration(options_.every)};
    Result<std::unique_ptr<SiteOutput>> made = SiteOutput::make(
        options_.site, std::move(job), [this](const std::string& text) { warn(text); });
    if (!made) return fail(std::move(made).error());
    site_ = std::move(*made);
    return {};
  }

  Result<void> steer() {
    if (options_.policy.empty()) return {};
    Result<steering::Policy> policy = steering::read_policy_file(options_.policy);
    if (!policy) return fail(std::move(policy).error());
    if (options_.act && policy->hosts.empty()) {
      warn("the policy has no 'hosts': it acts at all that recordings name");
    }
    for (const std::string& each : steering::never_met(*policy)) warn(each);
    counts_.emplace(*policy, options_.act);
    shown_.set(counts_->families(job_name()));
    const std::string audit = options_.audit.empty() ? policy->audit : options_.audit;
    Result<std::unique_ptr<steering::Driver>> driver = steering::Driver::make(
        {.policy = std::move(*policy),
         .job = {job_name(), path_without_links()},
         .audit = audit,
         .act = options_.act,
         .decided = [this](const steering::Decision& decision) { take(decision); },
         .warned = [this](const std::string& text) { warn(text); }});
    if (!driver) return fail(std::move(driver).error());
    driver_ = std::move(*driver);
    return {};
  }

  void take(const steering::Decision& decision) {
    counts_->add(decision);
    shown_.set(counts_->families(job_name()));
    line_.clear();
    print(options_.json ? steering::line_of(decision) : steering::text_of(decision));
  }

  void take(const monitor::AlarmChange& change, const monitor::WatchState& state) {
    line_.clear();
    const std::string json = dumped(monitor::json_of(change, state)) + "\n";
    print(options_.json ? json : monitor::text_of(change));
    if (hook_) hook_->add(json);
    if (webhook_) webhook_->add(json);
    if (site_) site_->change(change, state);
  }

  void take(const monitor::WatchDocument& document) {
    const monitor::WatchState& state = document.state;
    shown_.set(document);
    if (driver_) driver_->look(state, steady_now());
    if (site_) site_->look(document, steady_now());
    if (state.processes.empty()) {
      const std::string text = "waiting for recordings in " + options_.folder;
      if (!std::exchange(waiting_, true) && !line_.visible()) print_progress(text);
      line_.show(text);
      return;
    }
    line_.show(fmt::format("{:.0f} s: {} processes, {} collectives compared, {} faults",
                           1e-9 * static_cast<double>(state.now_ns), state.processes.size(),
                           state.operations, state.lasting.size()));
  }

  void warn(const std::string& text) {
    line_.clear();
    print_warning(text);
  }

  void note(const std::string& text) {
    line_.clear();
    print_progress(text);
  }

  Result<void> open_webhook() {
    if (options_.webhook.empty()) return {};
    Result<recordings::HttpPost> post = monitor::parse_webhook(options_.webhook);
    if (!post) return fail(std::move(post).error());
    webhook_.emplace(*post, [this](const std::string& text) { warn(text); });
    return {};
  }

  void poll_hooks() {
    if (hook_) hook_->poll(steady_now());
    if (webhook_) webhook_->poll(steady_now());
  }

  bool hooks_busy() const { return (hook_ && hook_->busy()) || (webhook_ && webhook_->busy()); }

  void finish_hooks() {
    while (hooks_busy() && lab::noted_signal() == 0) {
      poll_hooks();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static std::string over_text(const monitor::WatchState& state) {
    return fmt::format(
        "the job is over after {:.1f} s: {}\n", 1e-9 * static_cast<double>(state.now_ns),
        state.alarms_raised == 0   ? "no fault was found"
        : state.alarms_raised == 1 ? "1 fault was found"
                                   : fmt::format("{} faults were found", state.alarms_raised));
  }

  const MonitorOptions& options_;
  std::vector<std::string> host_names_;  // of --hosts
  TemporaryFolder passing_;
  ProgressLine line_;
  bool waiting_ = false;  // it was said
  ShownState shown_;
  std::optional<monitor::Hook> hook_;
  std::optional<monitor::Webhook> webhook_;
  std::optional<steering::Counts> counts_;
  std::unique_ptr<steering::Driver> driver_;
  std::unique_ptr<SiteOutput> site_;
  std::unique_ptr<GpuWatch> gpus_;
  std::unique_ptr<PlanDelivery> plan_;
  std::unique_ptr<metrics::Server> server_;  // reads what is shown
};

// GPUs alone, without a job.
int run_gpus(const MonitorOptions& options) {
  if (const CLI::Option* const other = options.given_of_a_job()) {
    print_error({ErrorCode::kInvalid,
                 fmt::format("cannot watch GPUs alone with {}", other->get_name()),
                 "it belongs to a job, and no recording is named",
                 fmt::format("name the job's recording, or leave out {}", other->get_name())});
    return kCouldNotRun;
  }
  return run_gpu_watch({own_host(), options.serve, *parse_duration(options.gpus_every)});
}

int run_monitor(MonitorOptions options) {
  if (!options.overview.address.empty()) {
    options.overview.access = options.site.access;
    options.overview.serve = options.serve;
    options.overview.token_file = options.token_file;
    options.overview.json = options.json;
    return run_overview(options.overview);
  }
  if (options.folder.empty() && options.gpus) return run_gpus(options);
  while (options.folder.size() > 1 && options.folder.back() == '/') options.folder.pop_back();
  std::error_code none;
  if (options.folder.empty() || std::filesystem::is_regular_file(options.folder, none)) {
    print_error({ErrorCode::kInvalid, fmt::format("cannot watch '{}'", options.folder),
                 "it is no folder",
                 "give the folder that is named to `heddle record -o`, or --site and an address"});
    return kCouldNotRun;
  }
  const Result<int> status = Monitor(options).run();
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_monitor_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("monitor", "watch a job, and report faults as they begin and end");
  command->footer(kExample + exit_status_help("a fault was found", "it could not watch"));
  const auto options = std::make_shared<MonitorOptions>();
  add_monitor_options(*command, *options);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_monitor(*options); }; });
}

}  // namespace heddle::cli
