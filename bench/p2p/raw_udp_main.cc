// heddle-bench-raw-udp: the limit of the network path between two hosts, for UDP without a
// protocol.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/p2p/raw_udp.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kIpUdpHeaderBytes = 28;

struct Arguments {
  bool server = false;
  bool once = false;
  bool json = false;
  bool sleep = false;
  std::string host;
  std::string test = "bw";
  std::string mode = "place";
  std::string sockets = "udp";
  std::string calls = "plain";
  uint16_t port = 18750;
  uint32_t mtu = 9000;
  RawRequest request;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_flag("--server", arguments.server,
               "receive and answer; serves clients one after another");
  app.add_option("--client", arguments.host, "measure towards the server on this host");
  app.add_option("--port", arguments.port, "TCP port of the server")->capture_default_str();
  app.add_flag("--once", arguments.once, "server: end after one client");
  app.add_option("--test", arguments.test, "bw: goodput; lat: half round trip of a small message")
      ->check(CLI::IsMember({"bw", "lat"}))
      ->capture_default_str();
  app.add_option("--mode", arguments.mode,
                 "bw: copy once from a staging buffer, or receive straight into the expected place")
      ->check(CLI::IsMember({"copy", "place"}))
      ->capture_default_str();
  app.add_option("--sockets", arguments.sockets,
                 "udp; xdp: XDP sockets, which need root, spin, and copy once")
      ->check(CLI::IsMember({"udp", "xdp"}))
      ->capture_default_str();
  app.add_option("--calls", arguments.calls,
                 "lat over UDP: send and recv; sendmmsg and recvmmsg; io_uring")
      ->check(CLI::IsMember({"plain", "mmsg", "uring"}))
      ->capture_default_str();
  app.add_option("--mtu", arguments.mtu, "bytes of an IPv4 packet; a segment is 28 smaller")
      ->check(CLI::Range(576, 65535))
      ->capture_default_str();
  app.add_option("-s,--size", arguments.request.message_bytes, "lat: bytes of a message")
      ->check(CLI::Range(1, 65507))
      ->capture_default_str();
  app.add_option("-t,--seconds", arguments.request.seconds, "how long to measure")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--memory", arguments.request.memory_mebibytes,
                 "bw: MiB that payload is read from and placed in, over and over")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--sleep", arguments.sleep, "wait in the kernel instead of spinning");
  app.add_flag("--json", arguments.json, "one JSON document on standard output");
  app.footer(
      "Example:\n  heddle-bench-raw-udp --server\n"
      "  heddle-bench-raw-udp --client 10.0.0.2 --mode copy --mtu 1500 -t 5");
}

double gbits(uint64_t bytes, uint64_t nanos) {
  return nanos == 0 ? 0 : static_cast<double>(bytes) * 8 / static_cast<double>(nanos);
}

nlohmann::json to_json(const Arguments& arguments, const RawOutcome& outcome) {
  nlohmann::json test = {
      {"test", arguments.test}, {"sockets", arguments.sockets}, {"spins", !arguments.sleep}};
  if (arguments.test == "lat") {
    const RawLatency& latency = outcome.latency;
    test["calls"] = arguments.calls;
    test["message_bytes"] = arguments.request.message_bytes;
    test["rounds"] = latency.rounds;
    test["rounds_lost"] = latency.lost;
    test["half_round_trip_us_min"] = latency.min_us;
    test["half_round_trip_us_mean"] = latency.mean_us;
    test["half_round_trip_us_p50"] = latency.p50_us;
    test["half_round_trip_us_p99"] = latency.p99_us;
    test["half_round_trip_us_p999"] = latency.p999_us;
  } else {
    const RawReceived& received = outcome.received;
    test["mode"] = arguments.mode;
    test["mtu_bytes"] = arguments.mtu;
    test["goodput_gbits_per_s"] = gbits(received.payload_bytes, received.nanos);
    test["offered_gbits_per_s"] = gbits(outcome.sent.payload_bytes, outcome.sent.nanos);
    test["memory_mebibytes"] = arguments.request.memory_mebibytes;
    test["received_bytes"] = received.payload_bytes;
    test["in_place_bytes"] = received.in_place_bytes;
    test["sender_cpu_s"] = static_cast<double>(outcome.sent.cpu_nanos) * 1e-9;
    test["receiver_cpu_s"] = static_cast<double>(received.cpu_nanos) * 1e-9;
    test["calls_refused"] = outcome.sent.refused_calls;
  }
  return {{"program", "heddle-bench-raw-udp"}, {"tests", nlohmann::json::array({test})}};
}

void print_text(const Arguments& arguments, const RawOutcome& outcome) {
  if (arguments.test == "lat") {
    const RawLatency& latency = outcome.latency;
    fmt::print(
        "half round trip of {} bytes: p50 {:.2f} us, p99 {:.2f} us, min {:.2f} us ({} rounds)\n",
        arguments.request.message_bytes, latency.p50_us, latency.p99_us, latency.min_us,
        latency.rounds);
    return;
  }
  const RawReceived& received = outcome.received;
  fmt::print("raw {}, MTU {}, {}: {:.1f} Gb/s received, {:.1f} Gb/s offered\n", arguments.sockets,
             arguments.mtu, arguments.mode, gbits(received.payload_bytes, received.nanos),
             gbits(outcome.sent.payload_bytes, outcome.sent.nanos));
}

int complain(const Error& error) {
  fmt::print(stderr, "heddle-bench-raw-udp: {}\n", error.message());
  return 2;
}

int run(Arguments& arguments) {
  if (arguments.server) {
    const Result<void> served = serve_raw_udp(arguments.port, arguments.once);
    return served ? 0 : complain(served.error());
  }
  arguments.request.test = arguments.test == "lat" ? RawTest::kLatency : RawTest::kBandwidth;
  arguments.request.placing = arguments.mode == "copy" ? RawPlacing::kCopy : RawPlacing::kPlace;
  arguments.request.datagram_bytes = arguments.mtu - kIpUdpHeaderBytes;
  arguments.request.sleep = arguments.sleep ? 1 : 0;
  arguments.request.calls = arguments.calls == "plain"  ? RawCallKind::kPlain
                            : arguments.calls == "mmsg" ? RawCallKind::kBatch
                                                        : RawCallKind::kRing;
  arguments.request.xdp = arguments.sockets == "xdp" ? 1 : 0;
  const Result<RawOutcome> outcome = run_raw_udp(arguments.host, arguments.port, arguments.request);
  if (!outcome) return complain(outcome.error());
  if (arguments.json) {
    fmt::print("{}\n", to_json(arguments, *outcome).dump());
  } else {
    print_text(arguments, *outcome);
  }
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("The limit of the path between two hosts for UDP with no protocol on top.");
  heddle::bench::declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (arguments.server == !arguments.host.empty()) {
    fmt::print(stderr, "heddle-bench-raw-udp: give either --server or --client HOST\n");
    return 2;
  }
  if (arguments.sockets == "xdp" && arguments.sleep) {
    fmt::print(stderr, "heddle-bench-raw-udp: XDP sockets are measured spinning only\n");
    return 2;
  }
  return heddle::bench::run(arguments);
}
