// heddle-bench-incast: one end of an incast over heddle, or the same rounds in the simulator.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/incast/incast.h"
#include "simulator/testing/incast.h"

namespace heddle::bench {
namespace {

struct Arguments {
  IncastRequest request;
  std::string host;
  bool receive = false;
  bool simulate = false;
  uint64_t rate_mbits_per_s = 200;
  uint64_t receive_rate_mbits_per_s = 0;
  uint64_t queue_bytes = 125'000;
};

void declare(CLI::App& app, Arguments& arguments) {
  IncastRequest& request = arguments.request;
  app.add_flag("--receive", arguments.receive, "ask the senders, and print what messages took");
  app.add_option("--send", arguments.host, "answer the receiver on this host");
  app.add_flag("--simulate", arguments.simulate, "run the same rounds in simulated time");
  app.add_option("--senders", request.senders, "how many send")->check(CLI::Range(1, 1000));
  app.add_option("--bytes", request.message_bytes, "of a message")->check(CLI::Range(1, 1 << 30));
  app.add_option("--rounds", request.rounds, "counted ones")->check(CLI::Range(1, 100'000));
  app.add_option("--cc", request.congestion, "congestion control");
  app.add_option("--paths", request.paths, "paths of a connection")->check(CLI::Range(1, 256));
  app.add_option("--port", request.port, "UDP port of the receiver");
  app.add_option("--receive-rate", arguments.receive_rate_mbits_per_s,
                 "Mb/s at which credit is given; 0: as measured");
  app.add_option("--rate", arguments.rate_mbits_per_s, "simulated: Mb/s of a host's link");
  app.add_option("--queue", arguments.queue_bytes, "simulated: bytes of its queue");
  app.footer(
      "Example:\n  heddle-bench-incast --receive --senders 8\n"
      "  heddle-bench-incast --send 10.0.0.2");
}

void say_listening() {
  fmt::print(stderr, "listens\n");
  std::fflush(stderr);
}

int complain(const Error& error) {
  fmt::print(stderr, "heddle-bench-incast: {}\n", error.message());
  return 2;
}

int receive(const Arguments& arguments) {
  const Result<IncastOutcome> outcome = receive_incast(arguments.request, say_listening);
  if (!outcome) return complain(outcome.error());
  nlohmann::json times = nlohmann::json::array();
  for (const auto& round : outcome->times) {
    nlohmann::json of_round = nlohmann::json::array();
    for (const Nanos time : round) of_round.push_back(time.count);
    times.push_back(std::move(of_round));
  }
  fmt::print("{}\n", nlohmann::json{{"message_ns", times}}.dump());
  return 0;
}

int send(const Arguments& arguments) {
  const auto statistics = send_incast(arguments.request, arguments.host);
  if (!statistics) return complain(statistics.error());
  fmt::print("{}\n", nlohmann::json{{"congestion", statistics->congestion},
                                    {"segments_sent", statistics->segments_sent},
                                    {"segments_retransmitted", statistics->segments_retransmitted}}
                         .dump());
  return 0;
}

int simulate(const Arguments& arguments) {
  simulator::IncastOptions options;
  options.congestion = arguments.request.congestion;
  options.senders = arguments.request.senders;
  options.message_bytes = arguments.request.message_bytes;
  options.rounds = arguments.request.rounds;
  options.rate = megabits_per_s(arguments.rate_mbits_per_s);
  options.receive_rate = arguments.request.receive_rate;
  options.queue = {arguments.queue_bytes};
  const simulator::IncastResult result = simulator::run_incast(options);
  if (!result.done) {
    return complain({ErrorCode::kTimeout, "the simulated rounds did not end", "", ""});
  }
  fmt::print("{}\n", nlohmann::json{{"message_ns_p50", result.percentile(50).count},
                                    {"message_ns_p99", result.percentile(99).count},
                                    {"jain_index", result.jain()},
                                    {"victim_gbits_per_s", result.victim_rate},
                                    {"drops", result.drops}}
                         .dump());
  return 0;
}

int run(Arguments& arguments) {
  arguments.request.receive_rate = megabits_per_s(arguments.receive_rate_mbits_per_s);
  if (arguments.simulate) return simulate(arguments);
  return arguments.receive ? receive(arguments) : send(arguments);
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("Many senders to one receiver over heddle.");
  heddle::bench::declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const int roles = int{arguments.receive} + int{arguments.simulate} + int{!arguments.host.empty()};
  if (roles != 1) {
    fmt::print(stderr, "heddle-bench-incast: give one of --receive, --send HOST, --simulate\n");
    return 2;
  }
  return heddle::bench::run(arguments);
}
