// `heddle ping`: see ping_command.h.
#include "apps/cli/ping_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/json.h"
#include "apps/cli/listen.h"
#include "apps/cli/params.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/latency_histogram.h"
#include "base/quantity.h"
#include "base/version.h"
#include "measure/client.h"
#include "measure/echo.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle ping --listen              on node2
  heddle ping node2 -C 20 -v        on node1)";

struct PingOptions {
  std::string host;
  bool listen = false;
  bool once = false;
  bool verbose = false;
  bool json = false;
  int64_t count = 0;  // 0: until interrupted
  std::string size = "64";
  std::string interval;
};

struct PingResult {
  std::string peer;
  uint64_t message_bytes = 0;
  uint64_t wrong_rounds = 0;
  LatencyHistogram round_trips;
};

// rping's data: a title, then letters that begin one further each round; the last byte is 0.
void fill_ping(std::span<std::byte> message, uint64_t round) {
  constexpr uint64_t kLetters = 'z' - 'A' + 1;
  const std::string title = fmt::format("heddle-ping-{}: ", round);
  for (size_t i = 0; i < message.size(); ++i) {
    const uint64_t letter = 'A' + (round + i - std::min(i, title.size())) % kLetters;
    message[i] =
        i < title.size() ? static_cast<std::byte>(title[i]) : static_cast<std::byte>(letter);
  }
  message.back() = std::byte{0};
}

std::string ping_line(std::span<const std::byte> echo, Nanos round_trip) {
  const size_t shown = std::min(echo.size() - 1, params::ping::kMostBytesShown);
  std::string text(reinterpret_cast<const char*>(echo.data()), shown);
  for (char& letter : text) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  const char* const more = echo.size() - 1 > shown ? "..." : "";
  return fmt::format("ping data: {}{}  {}\n", text, more, duration_text(round_trip));
}

// Rounds until the count, a signal or a failure; `result` holds what was done by then.
Result<void> run_rounds(measure::Client& client, const PingOptions& options, Nanos interval,
                        PingResult& result) {
  const uint64_t bytes = result.message_bytes;
  const measure::TestOptions test{
      .test = "lat", .message_bytes = bytes, .window = 1, .duration = seconds(86'400)};
  Result<Json> ready = client.ask(to_json(test), "ready");
  if (!ready) return fail(ready.error());
  Result<measure::MessageSlots> sending = measure::MessageSlots::make(client.endpoint(), bytes, 1);
  if (!sending) return fail(sending.error());
  Result<measure::MessageSlots> receiving =
      measure::MessageSlots::make(client.endpoint(), bytes, measure::kEchoWindow);
  if (!receiving) return fail(receiving.error());
  measure::EchoClient echo(client.link(), bytes, std::move(*sending), std::move(*receiving));
  ProgressLine progress;
  Nanos shown_at = client.endpoint().now();
  const auto count = static_cast<uint64_t>(options.count);
  for (uint64_t round = 0; count == 0 || round < count; ++round) {
    if (Result<void> is_ready = echo.ready(); !is_ready) return is_ready;
    fill_ping(echo.message(), round);
    const Result<Nanos> round_trip = echo.round();
    if (!round_trip) return fail(round_trip.error());
    result.round_trips.add(*round_trip);
    const bool same = std::ranges::equal(echo.echo(), echo.message());
    if (!same) ++result.wrong_rounds;
    if (options.verbose && !options.json) print(ping_line(echo.echo(), *round_trip));
    if (!same) print_error({ErrorCode::kSystem, fmt::format("round {} came back changed", round)});
    const Nanos now = client.endpoint().now();
    if (!options.verbose && now - shown_at >= params::ping::kShowEvery) {
      shown_at = now;
      progress.show(fmt::format("{}, {} the latest", counted_text(round + 1, "round"),
                                duration_text(*round_trip)));
    }
    // The helper drives while this thread sleeps; a signal is seen after a slice.
    const Nanos next = now + interval - *round_trip;
    for (Nanos left = next - now; left.count > 0 && interrupted() == 0;) {
      client.endpoint().progress(std::min(left, params::ping::kSleepSlice));
      left = next - client.endpoint().now();
    }
  }
  progress.clear();
  if (Result<void> finished = echo.finish(); !finished) return finished;
  Result<Json> reported = client.hear("result");
  return reported ? Result<void>() : fail(reported.error());
}

Json ping_document(const PingResult& result, bool stopped) {
  const LatencyHistogram& times = result.round_trips;
  return {{"heddle", std::string(kVersion)},
          {"peer", result.peer},
          {"message_bytes", result.message_bytes},
          {"rounds", times.count()},
          {"wrong_rounds", result.wrong_rounds},
          {"interrupted", stopped},
          {"round_trip_us_min", to_micros(times.min())},
          {"round_trip_us_avg", to_micros(times.mean())},
          {"round_trip_us_max", to_micros(times.max())},
          {"round_trip_us_p99", to_micros(times.percentile(990))}};
}

std::string ping_summary(const PingResult& result) {
  const LatencyHistogram& times = result.round_trips;
  std::string text =
      fmt::format("{} of {} to {}, each verified", counted_text(times.count(), "round"),
                  size_text(result.message_bytes), result.peer);
  if (result.wrong_rounds > 0) text += fmt::format(", {} WRONG", count_text(result.wrong_rounds));
  if (times.count() == 0) return text + "\n";
  return text + fmt::format("\nround trip min/avg/max/p99 = {} / {} / {} / {}\n",
                            duration_text(times.min()), duration_text(times.mean()),
                            duration_text(times.max()), duration_text(times.percentile(990)));
}

Result<int> ping_host(const Config& config, const PingOptions& options) {
  PingResult result;
  const Result<Bytes> size = parse_message_size(options.size);
  if (!size) return fail(size.error());
  result.message_bytes = size->count;
  Nanos interval;
  if (!options.interval.empty()) {
    const Result<Nanos> parsed = parse_duration(options.interval);
    if (!parsed) return fail(parsed.error());
    interval = *parsed;
  }
  catch_interrupts();
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_client(config);
  if (!endpoint) return fail(endpoint.error());
  const auto port = static_cast<uint16_t>(config.integer("port"));
  Result<std::unique_ptr<measure::Client>> client =
      measure::Client::connect(**endpoint, options.host, port, "heddle ping");
  if (!client && interrupted() != 0) return interrupted_exit_status();
  if (!client) return fail(client.error());
  result.peer = (*client)->peer();

  const Result<void> ran = run_rounds(**client, options, interval, result);
  const bool stopped = interrupted() != 0;
  if (options.json) {
    Json document = ping_document(result, stopped);
    if (!ran && !stopped) document.update(measure::to_json(ran.error()));
    print(document.dump(2) + "\n");
  } else {
    print(ping_summary(result));
  }
  if (stopped) return interrupted_exit_status();
  if (!ran) return fail(ran.error());
  return result.wrong_rounds == 0 ? kDone : kFoundWrong;
}

int run_ping(const Settings& settings, const PingOptions& options) {
  const Result<Config> config = settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  if (options.listen) return listen(*config, {.once = options.once, .json = options.json});
  const Result<int> status = ping_host(*config, options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_ping_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const ping =
      root.add_subcommand("ping", "send a message to a host and back, and verify each round");
  ping->footer(kExample + exit_status_help("a message came back changed", "could not run"));
  const auto options = std::make_shared<PingOptions>();
  const auto settings = std::make_shared<Settings>(*ping);
  auto* const host =
      ping->add_option("host", options->host, "the host where 'heddle ping --listen' runs");
  host->type_name(kHostType);
  auto* const server = ping->add_flag("--listen", options->listen, "serve clients");
  server->excludes(host);
  ping->add_flag("--once", options->once, "with --listen: end when the first client has left")
      ->needs(server);
  ping->add_option("-C,--count", options->count, "number of rounds")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX))
      ->default_str("until Ctrl-C");
  ping->add_option("-S,--size", options->size, "size of the message, 1 to 1G")
      ->type_name("SIZE")
      ->check(message_size_value())
      ->capture_default_str();
  ping->add_option("-i,--interval", options->interval, "time from one round to the next")
      ->type_name("DURATION")
      ->check(duration_value())
      ->default_str("none");
  ping->add_flag("-v,--verbose", options->verbose, "print the data of each round");
  add_json_option(*ping, options->json);
  settings->offer("-p,--port", "port", "PORT");
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--paths", "paths", "N");
  ping->callback([options, settings, host, &invocation] {
    if (!options->listen && host->count() == 0) {
      throw CLI::RequiredError("a host to ping, or --listen,");
    }
    invocation.run = [options, settings] { return run_ping(*settings, *options); };
  });
}

}  // namespace heddle::cli
