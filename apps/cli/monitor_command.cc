// `heddle monitor`: see monitor_command.h. What is watched, and how, is in monitor/.
#include "apps/cli/monitor_command.h"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/json.h"
#include "apps/cli/pages/pages.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "base/quantity.h"
#include "base/temporary_folder.h"
#include "lab/run.h"
#include "metrics/server.h"
#include "monitor/hook.h"
#include "monitor/watch.h"
#include "steering/driver.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce -n 100000
  heddle monitor job                                      in another terminal
  heddle monitor job --hosts node1,node2 --serve 18705 -o copy
  heddle monitor job --on-change 'curl -sS --json @- https://chat.example/hook'
  heddle monitor job --json | jq -r 'select(.event == "raised") | .summary'
  heddle monitor job --policy steer.toml                  prints what it would do
  heddle monitor job --policy steer.toml --act --audit /var/log/heddle/steering.jsonl

The job runs on undisturbed, whatever happens to its monitor. With --hosts its recordings are on
other machines, each in the folder of that name there; they are copied while they are written, and
with -o the copies are kept. --serve shows a page at /, the same as JSON at /state.json, and
metrics for Prometheus at /metrics.
--on-change runs a command of the shell for each fault that begins or ends, with it as JSON on
standard input. The watch ends with the job.
--policy decides by a file what is done about which fault: drain a node of Slurm, set a condition or
a taint of a Kubernetes node, run a command. Without --act that is printed and nothing is done. With
it an active test confirms the fault first, limits hold, and each decision is a line of the audit
log, which monitors of several jobs may share.)";

struct MonitorOptions {
  std::string folder;
  std::string hosts;
  std::string via = "ssh";
  std::string copies;
  std::string every = "1s";
  std::string serve;
  std::string on_change;
  std::string policy;
  std::string audit;
  bool act = false;
  bool json = false;
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What the server shows, of the last look.
class Shown {
 public:
  void set(monitor::WatchDocument document) {
    const std::scoped_lock lock(mutex_);
    document_ = std::move(document);
  }
  std::vector<metrics::Family> families() const {
    const std::scoped_lock lock(mutex_);
    return monitor::families_of(document_);
  }
  std::string state() const {
    const std::scoped_lock lock(mutex_);
    return dumped(monitor::json_of(document_)) + "\n";
  }

 private:
  mutable std::mutex mutex_;
  monitor::WatchDocument document_;
};

class Monitor {
 public:
  explicit Monitor(const MonitorOptions& options) : options_(options) {}

  Result<int> run() {
    lab::note_signals();
    signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of print()
    Result<monitor::WatchOptions> watch = watch_options();
    if (!watch) return fail(std::move(watch).error());
    shown_.set({.job = job_name()});
    if (auto serving = serve(); !serving) return fail(std::move(serving).error());
    if (!options_.on_change.empty()) {
      hook_.emplace(options_.on_change, [this](const std::string& text) { warn(text); });
    }
    if (auto steering = steer(); !steering) return fail(std::move(steering).error());
    const Result<monitor::WatchState> state = monitor::watch(*watch);
    line_.clear();
    if (!state) return fail(state.error());
    finish_hook();
    if (driver_) driver_->finish(steady_now, [] { return lab::noted_signal() != 0; });
    driver_.reset();
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
  std::string job_name() const {
    return std::filesystem::path(options_.folder).lexically_normal().filename().string();
  }

  std::string whole_path() const {
    std::error_code none;
    const std::filesystem::path path = std::filesystem::weakly_canonical(options_.folder, none);
    return none ? options_.folder : path.string();
  }

  Result<monitor::WatchOptions> watch_options() {
    monitor::WatchOptions made{
        .folder = options_.folder, .hosts = {}, .shell = {}, .copies = {}, .interrupted = [this] {
          if (hook_) hook_->poll(steady_now());
          if (driver_) driver_->poll(steady_now());
          return lab::noted_signal() != 0 || !check_output();
        }};
    made.every = *parse_duration(options_.every);
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

  Result<void> serve() {
    if (options_.serve.empty()) return {};
    const Result<metrics::ListenAddress> address = metrics::parse_listen_address(options_.serve);
    if (!address) return fail(address.error());
    Result<std::unique_ptr<metrics::Server>> server = metrics::Server::listen(*address);
    if (!server) return fail(std::move(server).error());
    server_ = std::move(*server);
    const std::string page = fill_page(kMonitorPage, job_name() + " - heddle monitor", Json());
    auto served =
        server_->serve([this] { return shown_.families(); },
                       {{"/", "text/html; charset=utf-8", [page] { return page; }},
                        {"/state.json", "application/json", [this] { return shown_.state(); }}});
    if (served) print_progress("the page is at " + server_->root_url());
    return served;
  }

  Result<void> steer() {
    if (options_.policy.empty()) return {};
    Result<steering::Policy> policy = steering::read_policy_file(options_.policy);
    if (!policy) return fail(std::move(policy).error());
    if (options_.act && policy->hosts.empty()) {
      warn("the policy has no 'hosts': it acts at all that recordings name");
    }
    const std::string audit = options_.audit.empty() ? policy->audit : options_.audit;
    Result<std::unique_ptr<steering::Driver>> driver = steering::Driver::make(
        {.policy = std::move(*policy),
         .job = {job_name(), whole_path()},
         .audit = audit,
         .act = options_.act,
         .decided = [this](const steering::Decision& decision) { take(decision); },
         .warned = [this](const std::string& text) { warn(text); }});
    if (!driver) return fail(std::move(driver).error());
    driver_ = std::move(*driver);
    return {};
  }

  void take(const steering::Decision& decision) {
    line_.clear();
    print(options_.json ? steering::line_of(decision) : steering::text_of(decision));
  }

  void take(const monitor::AlarmChange& change, const monitor::WatchState& state) {
    line_.clear();
    const std::string json = dumped(monitor::json_of(change, state)) + "\n";
    print(options_.json ? json : monitor::text_of(change));
    if (hook_) hook_->add(json);
  }

  void take(const monitor::WatchDocument& document) {
    const monitor::WatchState& state = document.state;
    shown_.set(document);
    if (driver_) driver_->look(state, steady_now());
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

  void finish_hook() {
    while (hook_ && hook_->busy() && lab::noted_signal() == 0) {
      hook_->poll(steady_now());
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
  TemporaryFolder passing_;
  ProgressLine line_;
  bool waiting_ = false;  // it was said
  Shown shown_;
  std::optional<monitor::Hook> hook_;
  std::unique_ptr<steering::Driver> driver_;
  std::unique_ptr<metrics::Server> server_;  // reads what is shown
};

int run_monitor(const MonitorOptions& options) {
  std::error_code none;
  if (options.folder.empty() || std::filesystem::is_regular_file(options.folder, none)) {
    print_error({ErrorCode::kInvalid, fmt::format("cannot watch '{}'", options.folder),
                 "it is no folder", "give the folder that is named to `heddle record -o`"});
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
  command
      ->add_option("recording", options->folder,
                   "the folder in which the job is recorded; it need not be there yet")
      ->required()
      ->type_name("RECORDING");
  auto* const hosts = add_hosts_option(*command, options->hosts, "the job runs on these machines");
  hosts->default_str("this one");
  add_via_option(*command, options->via)->capture_default_str()->needs(hosts);
  command
      ->add_option("-o,--output", options->copies, "the new folder for copies of their recordings")
      ->type_name("FOLDER")
      ->default_str("a temporary one")
      ->needs(hosts);
  command->add_option("--every", options->every, "time from one look to the next")
      ->type_name("DURATION")
      ->check(duration_value(millis(100)))
      ->capture_default_str();
  command->add_option("--serve", options->serve, "show a page and metrics there")
      ->type_name("[ADDRESS:]PORT")
      ->check(listen_address_value());
  command->add_option("--on-change", options->on_change, "run this for each change")
      ->type_name("COMMAND");
  auto* const policy =
      command->add_option("--policy", options->policy, "what is done about which fault")
          ->type_name("FILE");
  command->add_flag("--act", options->act, "do it, instead of printing what would be done")
      ->needs(policy);
  command->add_option("--audit", options->audit, "add each decision to this file")
      ->type_name("FILE")
      ->default_str("that of the policy")
      ->needs(policy);
  add_json_option(*command, options->json)
      ->description("a line of JSON for each change on standard output");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_monitor(*options); }; });
}

}  // namespace heddle::cli
