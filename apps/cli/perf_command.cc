// `heddle perf`: see perf_command.h.
#include "apps/cli/perf_command.h"

#include <fmt/core.h>

#include <algorithm>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/drops.h"
#include "apps/cli/json.h"
#include "apps/cli/listen.h"
#include "apps/cli/output.h"
#include "apps/cli/params.h"
#include "apps/cli/perf/report.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "measure/measurement.h"
#include "measure/network_figures.h"
#include "measure/params.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle perf --listen                        on node2
  heddle perf node2 bw lat                    on node1
  heddle perf node2 bw -s all --paths 16 --json
  heddle perf node2 --relay relay-a,relay-b   the host there listens with --relayed
  heddle perf node2 --save network.toml)";

struct PerfOptions {
  std::string host;
  std::vector<std::string> tests;
  bool listen = false;
  bool once = false;
  bool relayed = false;
  std::vector<std::string> relays;
  bool json = false;
  bool bidirectional = false;
  bool check = false;
  std::string time;
  std::string size;
  uint32_t window = 0;  // messages; 0: by their size
  std::string save;
};

// The tests to run, in order. Errors: kInvalid.
Result<std::vector<measure::TestOptions>> plan_tests(const PerfOptions& options) {
  const bool sweep = options.size == "all";
  const Result<Nanos> span =
      parse_duration(!options.time.empty() ? options.time : std::string(sweep ? "1" : "2"));
  if (!span) return fail(span.error());
  if (*span < params::perf::kShortestTest) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot measure for '{}'", options.time),
                "that is too short for a result", "give at least 10ms with -t");
  }
  std::vector<std::string> names = options.tests;
  if (names.empty()) names = {"bw", "lat"};
  std::vector<measure::TestOptions> plan;
  for (const std::string& name : names) {
    if (name != "bw" && name != "lat") {
      return fail(ErrorCode::kInvalid, fmt::format("cannot run the test '{}'", name),
                  "there is none of this name", "choose bw or lat");
    }
    std::vector<uint64_t> sizes;
    if (sweep) {
      for (uint64_t bytes = 1; bytes <= params::perf::kSweepLast; bytes *= 4)
        sizes.push_back(bytes);
    } else if (options.size.empty()) {
      sizes.push_back(name == "bw" ? params::perf::kBandwidthBytes : params::perf::kLatencyBytes);
    } else {
      const Result<Bytes> size = parse_message_size(options.size);
      if (!size) return fail(size.error());
      sizes.push_back(size->count);
    }
    for (const uint64_t bytes : sizes) {
      const uint32_t window = options.window > 0 ? options.window : measure::window_for(bytes);
      plan.push_back({.test = name,
                      .message_bytes = bytes,
                      .window = name == "bw" ? window : 1,
                      .duration = *span,
                      .bidirectional = options.bidirectional && name == "bw",
                      .check = options.check && name == "bw"});
    }
  }
  return plan;
}

// Options that concern only a test that is not in the plan.
void note_idle_options(const std::vector<measure::TestOptions>& plan, const PerfOptions& options) {
  if (std::ranges::any_of(plan, [](const measure::TestOptions& test) { return test.test == "bw"; }))
    return;
  if (options.check) print_warning("--check concerns bw only");
  if (options.bidirectional) print_warning("--bidirectional concerns bw only");
  if (options.window > 0) print_warning("--window concerns bw only");
}

PerfSetting setting_of(const measure::Client& client, const Config& config) {
  PerfSetting setting{.peer = client.peer()};
  setting.paths_asked = static_cast<uint32_t>(config.integer("paths"));
  if (const auto known = client.endpoint().statistics(client.connection())) {
    setting.paths = known->paths;
    setting.congestion = known->congestion;
    setting.protection = known->protection;
  }
  return setting;
}

// Runs the tests one after the other, and prints each when it is done.
class PerfRun {
 public:
  PerfRun(measure::Client& client, const PerfOptions& options)
      : client_(client), options_(options) {}

  Result<void> run(const std::vector<measure::TestOptions>& plan) {
    const bool sweep = options_.size == "all";
    for (const measure::TestOptions& test : plan) {
      const bool first = measurements_.empty() || measurements_.back().options.test != test.test;
      measure::Measurement& now = measurements_.emplace_back();
      now.options = test;
      const Result<void> ran = measure::run_test(client_, now, [&](const std::string& text) {
        line_.show(fmt::format("{} {}  {}", test.test, size_text(test.message_bytes), text));
      });
      line_.clear();
      const bool seen = now.sent.messages > 0 || now.round_trips.count() > 0;
      if (!options_.json && (ran || seen)) {
        if (sweep && first) print(sweep_head(test.test));
        print(sweep ? sweep_row(now) : measurement_text(now));
      }
      if (!ran) return ran;
    }
    return {};
  }

  const std::vector<measure::Measurement>& measurements() const { return measurements_; }
  const engine::Endpoint& endpoint() const { return client_.endpoint(); }

 private:
  measure::Client& client_;
  const PerfOptions& options_;
  ProgressLine line_;
  std::vector<measure::Measurement> measurements_;
};

// Writes what --save asks for.
Result<void> save_figures(const PerfSetting& setting, const PerfOptions& options,
                          const PerfRun& run) {
  if (options.save.empty()) return {};
  const auto network =
      measure::network_figures(run.measurements(), run.endpoint().local_nics().size());
  if (!network) return fail(network.error());
  const std::string source = fmt::format("heddle perf {}, {} paths", setting.peer, setting.paths);
  return write_output(options.save, nccl::network_text(*network, source));
}

Result<int> conclude(const PerfSetting& setting, const PerfOptions& options, const PerfRun& run,
                     const Result<void>& ran) {
  const bool stopped = interrupted() != 0;
  if (options.json) {
    const Error* error = ran || stopped ? nullptr : &ran.error();
    Json document = perf_document(setting, run.measurements(), stopped, error);
    document["dropped_datagrams"] = drops_of(run.endpoint().statistics());
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (stopped) return interrupted_exit_status();
  if (!ran) return fail(ran.error());
  if (const Result<void> saved = save_figures(setting, options, run); !saved) {
    return fail(saved.error());
  }
  int status = kDone;
  for (const measure::Measurement& each : run.measurements()) {
    const std::string wrong = wrong_text(each);
    if (wrong.empty()) continue;
    print_error({ErrorCode::kSystem, wrong});
    status = kFoundWrong;
  }
  return status;
}

Result<int> measure_host(const Config& config, const PerfOptions& options) {
  const Result<std::vector<measure::TestOptions>> plan = plan_tests(options);
  if (!plan) return fail(plan.error());
  note_idle_options(*plan, options);
  catch_interrupts();
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_client(config);
  if (!endpoint) return fail(endpoint.error());
  const auto port = static_cast<uint16_t>(config.integer("port"));
  Result<std::unique_ptr<measure::Client>> client =
      options.relays.empty()
          ? measure::Client::connect(**endpoint, options.host, port, "heddle perf")
          : measure::Client::connect_through(**endpoint, options.relays, options.host, port);
  if (!client && interrupted() != 0) return interrupted_exit_status();
  if (!client) return fail(client.error());
  const PerfSetting setting = setting_of(**client, config);
  if (!options.json) print(setting_text(setting));
  PerfRun run(**client, options);
  const Result<void> ran = run.run(*plan);
  return conclude(setting, options, run, ran);
}

int run_perf(const Settings& settings, const PerfOptions& options) {
  const Result<Config> config = settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  if (options.listen)
    return listen(*config,
                  {.once = options.once, .json = options.json, .relayed = options.relayed});
  const Result<int> status = measure_host(*config, options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

void add_options(CLI::App& perf, PerfOptions& options, Settings& settings) {
  perf.add_option("tests", options.tests, "what to measure: bandwidth, latency")
      ->type_name("bw|lat")
      ->check(one_of({"bw", "lat"}))
      ->default_str("both");
  perf.add_option("-t,--time", options.time, "duration of each test, at least 10ms")
      ->type_name("DURATION")
      ->check(duration_value())
      ->default_str("2s; with -s all, 1s a size");
  perf.add_option("-s,--size", options.size, "size of a message, 1 to 1G; all: a sweep")
      ->type_name("SIZE")
      ->check(message_size_value("all"))
      ->default_str("bw 1M, lat 64");
  perf.add_option("--window", options.window, "bw: messages in flight at a time, 1 to 1024")
      ->type_name("N")
      ->check(whole_number(1, measure::params::kMostWindow))
      ->default_str("8M of them, 2 to 128");
  perf.add_flag("--bidirectional", options.bidirectional, "bw: send in both directions at once");
  perf.add_flag("--check", options.check, "bw: verify every byte received");
  add_json_option(perf, options.json);
  perf.add_option("--save", options.save,
                  "write goodput and latency to this file, for nccl.network")
      ->type_name("FILE");
  settings.offer("-p,--port", "port", "PORT");
  settings.offer("--bind", "bind", kAddressListType);
  settings.offer("--paths", "paths", "N");
  settings.offer("--cc", "congestion", "NAME");
  settings.offer("--engines", "engines", "N");
}

}  // namespace

void add_perf_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const perf =
      root.add_subcommand("perf", "measure bandwidth and latency between two hosts");
  perf->footer(kExample + exit_status_help("data arrived changed", "could not run"));
  const auto options = std::make_shared<PerfOptions>();
  const auto settings = std::make_shared<Settings>(*perf);
  auto* const host =
      perf->add_option("host", options->host, "the host where 'heddle perf --listen' runs");
  host->type_name(kHostType);
  auto* const server = perf->add_flag("--listen", options->listen, "serve clients, many at once");
  server->excludes(host);
  perf->add_flag("--once", options->once, "with --listen: end when the first client has left")
      ->needs(server);
  perf->add_flag("--relayed", options->relayed,
                 "with --listen: serve those that come through 'heddle relay', and no others")
      ->needs(server);
  perf->add_option("--relay", options->relays, "go through these relays, in their order")
      ->type_name("HOST[:PORT],...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(server);
  add_options(*perf, *options, *settings);
  perf->callback([options, settings, host, &invocation] {
    if (!options->listen && host->count() == 0) {
      throw CLI::RequiredError("a host to measure, or --listen,");
    }
    invocation.run = [options, settings] { return run_perf(*settings, *options); };
  });
}

}  // namespace heddle::cli
