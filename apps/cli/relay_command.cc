// `heddle relay`: see relay_command.h.
#include "apps/cli/relay_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/relay/relay_metrics.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/error_code.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/thread.h"
#include "base/version.h"
#include "datapath/resolve.h"
#include "engine/configured.h"
#include "relaying/params.h"
#include "relaying/relay.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle relay --to relay-b                                at site A
  heddle relay --to node2:18700                            at site B
  heddle perf --listen --relayed                           on node2
  heddle perf node2 bw lat --relay relay-a,relay-b         on node1

A relay that was stopped or killed may be started again: sessions go on, and their programs see
every message once and in order.)";

struct CommandOptions {
  std::vector<std::string> to;
  std::string memory = "256M";
  uint32_t sessions = 8;
  uint16_t port = relaying::params::kPort;
  std::string first_window = "128K";
  std::string metrics;
  bool without_keys = false;
  bool json = false;
};

Result<void> check_keys(const Config& config, const CommandOptions& options) {
  if (options.without_keys || !config.text("key_file").empty()) return {};
  return fail(ErrorCode::kPermission, "cannot relay",
              "no key_file is set, and anyone who reaches this port could send to the destinations",
              "make a key with 'heddle key generate FILE' and set HEDDLE_KEY_FILE at both ends and "
              "on the relays, or forward for anyone with --without-keys");
}

// One endpoint of the relay's two: where sessions arrive (`accept`), or that connects to next hops.
Result<std::unique_ptr<engine::Endpoint>> attach_relay(const Config& config,
                                                       const CommandOptions& options,
                                                       uint64_t memory_bytes, bool accept) {
  Result<engine::Options> made = engine::configured_options(config);
  if (!made) return fail(made.error());
  made->transport.accept = accept;
  made->eager_bytes = {memory_bytes / params::relay::kEagerPart / 2};
  if (const auto window = parse_size(options.first_window)) {
    made->transport.initial_window = *window;
  }
  made->transport.stranger_bytes = engine::stranger_share(config, engine::kServerEndpointParts);
  if (auto fits = engine::check_stranger_bytes(*made, engine::kServerEndpointParts, 1); !fits) {
    return fail(fits.error());
  }
  engine::NetworkOptions network = engine::configured_network(config);
  network.port = accept ? options.port : 0;
  return engine::Endpoint::open(network, *made);
}

std::string session_text(const relaying::SessionReport& report) {
  const std::string to = report.to.empty() ? "?" : printable(report.to);
  if (report.refused) {
    return fmt::format("{} to {}: refused: {}\n", report.from, to, report.cause.message());
  }
  std::string text = fmt::format("{} to {}: {} there, {} back, in {}", report.from, to,
                                 size_text(report.there.bytes), size_text(report.back.bytes),
                                 duration_text(report.lasted));
  const bool graceful = report.cause.code == ErrorCode::kClosed;
  return text + (graceful ? "\n" : fmt::format("; broken: {}\n", report.cause.message()));
}

Json session_record(const relaying::SessionReport& report) {
  Json record = {{"from", report.from},
                 {"to", report.to},
                 {"seconds", to_seconds(report.lasted)},
                 {"bytes_there", report.there.bytes},
                 {"bytes_back", report.back.bytes},
                 {"frames_there", report.there.frames},
                 {"frames_back", report.back.frames},
                 {"refused", report.refused},
                 {"end", name_of(report.cause.code)}};
  if (report.cause.code != ErrorCode::kClosed) record["reason"] = report.cause.message();
  return record;
}

void add_counts(FecCounts& counts, const datapath::DatapathStatistics& statistics) {
  counts.parity_sent += statistics.parity_sent;
  counts.parity_received += statistics.parity_received;
  counts.rebuilt += statistics.rebuilt;
}

// Of both; they may be the same one.
FecCounts fec_counts(const engine::Endpoint& near, const engine::Endpoint& far) {
  FecCounts counts;
  add_counts(counts, near.datapath_statistics());
  if (&far != &near) add_counts(counts, far.datapath_statistics());
  return counts;
}

// Drives the endpoint of the next hops, where it is another one, in a thread, which wakes the one
// that forwards.
class FarDriver {
 public:
  FarDriver(engine::Endpoint& near, engine::Endpoint& far) : near_(near), far_(far) {}
  ~FarDriver() {
    stopped_ = true;
    far_.interrupt();
    if (thread_.joinable()) thread_.join();
  }
  FarDriver(const FarDriver&) = delete;
  FarDriver& operator=(const FarDriver&) = delete;

  Result<void> start() {
    if (&near_ == &far_) return {};
    Result<Thread> thread = start_thread("heddle-far", [this] {
      while (!stopped_) {
        if (far_.progress(params::relay::kSlice)) near_.interrupt();
      }
    });
    if (!thread) return fail(thread.error());
    thread_ = std::move(*thread);
    return {};
  }

 private:
  engine::Endpoint& near_;
  engine::Endpoint& far_;
  std::atomic<bool> stopped_{false};
  Thread thread_;
};

class RelayCommand {
 public:
  RelayCommand(const Config& config, const CommandOptions& options)
      : config_(config), options_(options) {}

  Result<int> run() {
    if (Result<void> keyed = check_keys(config_, options_); !keyed) return fail(keyed.error());
    const Result<Bytes> memory = parse_size(options_.memory);
    if (!memory) return fail(memory.error());
    const relaying::RelayOptions limits = {
        .memory_bytes = memory->count - memory->count / params::relay::kEagerPart,
        .most_sessions = options_.sessions};
    if (auto checked = relaying::Relay::check(limits); !checked) return fail(checked.error());
    auto destinations = relaying::Destinations::make(options_.to);
    if (!destinations) return fail(destinations.error());
    catch_interrupts();
    auto near = attach_relay(config_, options_, memory->count, true);
    if (!near) return fail(near.error());
    // XDP sockets take a whole interface: one endpoint does both.
    const bool one = config_.text("datapath") == "xdp";
    auto far = one ? Result<std::unique_ptr<engine::Endpoint>>(nullptr)
                   : attach_relay(config_, options_, memory->count, false);
    if (!far) return fail(far.error());
    if (!options_.metrics.empty()) {
      if (auto shown = metrics_.open(options_.metrics); !shown) return fail(shown.error());
    }
    address_ = datapath::to_text((*near)->local_address());
    if (!options_.json) {
      print(fmt::format("heddle {} relays on {} to {}; {} sessions of {} each way in {}\n",
                        kVersion, address_, destinations->text(), options_.sessions,
                        size_text(limits.frames() * relaying::params::kFrameBytes),
                        size_text(memory->count)));
    }
    return serve(**near, one ? **near : **far, *std::move(destinations), limits);
  }

 private:
  Result<int> serve(engine::Endpoint& near, engine::Endpoint& far,
                    relaying::Destinations destinations, const relaying::RelayOptions& limits) {
    relaying::Relay relay(near, far, std::move(destinations), limits,
                          [this](const relaying::SessionReport& report) { note(report); });
    FarDriver driver(near, far);
    if (Result<void> driving = driver.start(); !driving) return fail(driving.error());
    const Nanos began = near.now();
    Nanos shown = began;
    while (interrupted() == 0) {
      near.progress(params::relay::kSlice);
      relay.step();
      if (const Nanos now = near.now(); now - shown >= params::relay::kSlice) {
        shown = now;
        metrics_.set(relay.counts(), fec_counts(near, far), relay.sessions());
      }
    }
    const relaying::RelayCounts counts = relay.counts();
    const FecCounts fec = fec_counts(near, far);
    if (options_.json) {
      print_document(counts, fec, near.now() - began);
    } else {
      print(fmt::format("stopped; {} relayed, {}{}\n", counted_text(counts.sessions, "session"),
                        size_text(counts.bytes), fec_text(fec)));
    }
    return interrupted_exit_status();
  }

  void note(const relaying::SessionReport& report) {
    if (!options_.json) return print(session_text(report));
    if (records_.size() == params::kMostRecords) records_.pop_front();
    records_.push_back(session_record(report));
  }

  std::string fec_text(const FecCounts& fec) const {
    if (config_.text("fec") == "off") return "";
    return fmt::format("; fec {}: {} of parity sent, {} received, {} rebuilt", config_.text("fec"),
                       fec.parity_sent, fec.parity_received, counted_text(fec.rebuilt, "datagram"));
  }

  void print_document(const relaying::RelayCounts& counts, const FecCounts& fec, Nanos ran) const {
    const Json document = {{"heddle", std::string(kVersion)},
                           {"address", address_},
                           {"destinations", options_.to},
                           {"seconds", to_seconds(ran)},
                           {"sessions", counts.sessions},
                           {"refused", counts.refused},
                           {"turned_away", counts.turned_away},
                           {"frames", counts.frames},
                           {"bytes", counts.bytes},
                           {"most_held_bytes", counts.most_held_bytes},
                           {"fec", config_.text("fec")},
                           {"parity_sent", fec.parity_sent},
                           {"parity_received", fec.parity_received},
                           {"rebuilt", fec.rebuilt},
                           {"interrupted", interrupted() != 0},
                           {"records", records_}};
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const Config& config_;
  const CommandOptions& options_;
  RelayMetrics metrics_;
  std::string address_;
  std::deque<Json> records_;
};

int run_relay(const Settings& settings, const CommandOptions& options) {
  const Result<Config> config = settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  const Result<int> status = RelayCommand(*config, options).run();
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_relay_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const relay =
      root.add_subcommand("relay", "forward messages between sites that are far apart");
  relay->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<CommandOptions>();
  const auto settings = std::make_shared<Settings>(*relay);
  relay
      ->add_option(
          "--to", options->to,
          "where it may forward to: relays and hosts; without a port, any port of the host")
      ->type_name("HOST[:PORT],...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  relay->add_option("-p,--port", options->port, "UDP port that it receives on")
      ->type_name("PORT")
      ->check(whole_number(1, 65535))
      ->capture_default_str();
  relay
      ->add_option("--memory", options->memory,
                   "most memory for messages, all sessions together; senders wait beyond it")
      ->type_name("SIZE")
      ->check(size_value(params::relay::kLeastMemory))
      ->capture_default_str();
  relay->add_option("--sessions", options->sessions, "most sessions at a time; they share memory")
      ->type_name("N")
      ->check(whole_number(1, params::relay::kMostSessions))
      ->capture_default_str();
  relay
      ->add_option("--first-window", options->first_window,
                   "in flight on a new connection before anything is known of its path; 0: ten "
                   "packets, as between hosts")
      ->type_name("SIZE")
      ->check(size_value())
      ->capture_default_str();
  relay->add_flag("--without-keys", options->without_keys,
                  "forward for anyone who reaches the port");
  relay->add_option("--metrics", options->metrics, "show counters to Prometheus at this TCP port")
      ->type_name("[ADDRESS:]PORT")
      ->check(listen_address_value());
  add_json_option(*relay, options->json);
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--paths", "paths", "N");
  settings->offer("--cc", "congestion", "NAME");
  settings->offer("--fec", "fec", "DATA:PARITY");
  relay->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_relay(*settings, *options); };
  });
}

}  // namespace heddle::cli
