// See monitor_options.h.
#include "apps/cli/monitor/monitor_options.h"

#include <fmt/format.h>

#include <vector>

#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "base/quantity.h"
#include "monitor/params.h"

namespace heddle::cli {
namespace {

// An overview believes no longer one. The other check has its own words for what is no duration.
std::string refuse_long_interval(const std::string& text) {
  const Result<Nanos> duration = parse_duration(text);
  if (!duration || *duration <= monitor::params::kLongestInterval) return {};
  return fmt::format("'{}' is too long: give at most {}", text,
                     duration_text(monitor::params::kLongestInterval));
}

// What a watch of one job alone has.
std::vector<CLI::Option*> add_watch_options(CLI::App& command, MonitorOptions& options) {
  auto* const hosts = add_hosts_option(command, options.hosts, "the job runs on these machines");
  hosts->default_str("this one");
  auto* const via = add_via_option(command, options.via)->capture_default_str()->needs(hosts);
  auto* const copies = command
                           .add_option("-o,--output", options.copies,
                                       "the new folder for copies of their recordings")
                           ->type_name("FOLDER")
                           ->default_str("a temporary one")
                           ->needs(hosts);
  auto* const plan = command
                         .add_option("--plan", options.plan,
                                     "keep this plan on those machines, where the job follows it")
                         ->type_name("FILE")
                         ->needs(hosts);
  auto* const plan_file =
      command
          .add_option("--plan-file", options.plan_target, "there; the job's HEDDLE_PLAN names it")
          ->type_name("FILE")
          ->default_str("RECORDING.plan.json")
          ->needs(plan);
  auto* const every =
      command.add_option("--every", options.every, "time from one look to the next")
          ->type_name("DURATION")
          ->check(duration_value(millis(100)))
          ->capture_default_str();
  auto* const on_change =
      command.add_option("--on-change", options.on_change, "run this for each change")
          ->type_name("COMMAND");
  auto* const node_records =
      command
          .add_option("--node-records", options.node_records,
                      "folder of `heddle agent serve` there, or here without --hosts")
          ->type_name("FOLDER");
  auto* const webhook = command
                            .add_option("--webhook", options.webhook,
                                        "send each change there, as JSON by HTTP POST; @FILE: the "
                                        "address is in it")
                            ->type_name("URL");
  return {hosts, via, copies, plan, plan_file, every, on_change, node_records, webhook};
}

std::vector<CLI::Option*> add_publish_options(CLI::App& command, MonitorOptions& options) {
  auto* const publish = command.add_option("--publish", options.site.publish,
                                           "publish faults, state and series to a server of NATS");
  publish->type_name("ADDRESS");
  auto* const name = command.add_option("--name", options.name, "of the job there")
                         ->type_name("NAME")
                         ->default_str("the folder's name");
  auto* const state_every =
      command.add_option("--state-every", options.site.state_every, "time between such states")
          ->type_name("DURATION")
          ->check(duration_value(millis(200)))
          ->check(CLI::Validator(refuse_long_interval, ""))
          ->capture_default_str();
  auto* const series_every =
      command.add_option("--series-every", options.series_every, "interval of such series")
          ->type_name("DURATION")
          ->check(duration_value(seconds(1)))
          ->capture_default_str();
  auto* const store = command.add_option("--clickhouse", options.site.store,
                                         "keep faults, state and series in a ClickHouse database");
  store->type_name("URL");
  return {publish, name, state_every, series_every, store};
}

std::vector<CLI::Option*> add_policy_options(CLI::App& command, MonitorOptions& options) {
  auto* const policy =
      command.add_option("--policy", options.policy, "what is done about which fault")
          ->type_name("FILE");
  auto* const act =
      command.add_flag("--act", options.act, "do it, instead of printing what would be done")
          ->needs(policy);
  auto* const audit =
      command.add_option("--audit", options.audit, "add each decision to this file")
          ->type_name("FILE")
          ->default_str("that of the policy")
          ->needs(policy);
  return {policy, act, audit};
}

// They read the GPUs of the machine on which the monitor runs.
std::vector<CLI::Option*> add_gpu_options(CLI::App& command, MonitorOptions& options,
                                          CLI::Option* serve, CLI::Option* hosts) {
  auto* const gpus = command
                         .add_flag("--gpus", options.gpus,
                                   "show what nvidia-smi says of this machine's GPUs in the "
                                   "metrics; without a recording, of them alone")
                         ->needs(serve)
                         ->excludes(hosts);
  auto* const gpus_every =
      command.add_option("--gpus-every", options.gpus_every, "time from one reading to the next")
          ->type_name("DURATION")
          ->check(duration_value(millis(500)))
          ->capture_default_str()
          ->needs(gpus);
  return {gpus, gpus_every};
}

}  // namespace

const CLI::Option* MonitorOptions::given_of_a_job() const {
  for (const CLI::Option* const each : of_a_job) {
    if (each->count() > 0) return each;
  }
  return nullptr;
}

void add_monitor_options(CLI::App& command, MonitorOptions& options) {
  auto* const recording =
      command
          .add_option("recording", options.folder,
                      "the folder in which the job is recorded; it need not be there yet")
          ->type_name("RECORDING");
  std::vector<CLI::Option*> of_one_job = add_watch_options(command, options);
  CLI::Option* const hosts = of_one_job.front();
  auto* const serve = command.add_option("--serve", options.serve, "show a page and metrics there")
                          ->type_name("[ADDRESS:]PORT")
                          ->check(listen_address_value());
  command
      .add_option("--token-file", options.token_file,
                  "file with the token that readers of the page and metrics must have")
      ->type_name("FILE")
      ->needs(serve);
  for (CLI::Option* each : add_publish_options(command, options)) of_one_job.push_back(each);
  command
      .add_option("--nats-access", options.site.access, "user, password or token, and certificates")
      ->type_name("FILE")
      ->default_str("the environment");
  for (CLI::Option* each : add_policy_options(command, options)) of_one_job.push_back(each);
  options.of_a_job.assign(of_one_job.begin(), of_one_job.end());
  for (CLI::Option* each : add_gpu_options(command, options, serve, hosts)) {
    of_one_job.push_back(each);
  }
  auto* const all = command.add_option("--site", options.overview.address,
                                       "show what the monitors of all jobs publish there");
  all->type_name("ADDRESS")->excludes(recording);
  for (CLI::Option* const each : of_one_job) all->excludes(each);
  command
      .add_option("--for", options.overview.span, "end after this time, with a table of all jobs")
      ->type_name("DURATION")
      ->check(duration_value(millis(100)))
      ->default_str("until Ctrl-C")
      ->needs(all);
  auto* const json = add_json_option(command, options.json);
  json->description("a line of JSON for each change on standard output");
  options.of_a_job.push_back(json);
}

}  // namespace heddle::cli
