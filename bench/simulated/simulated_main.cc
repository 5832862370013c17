// heddle-bench-simulated: bulk transfers over the fabric of a topology file, simulated with the
// production transport, for comparison with real packets.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulated/transfers.h"
#include "topology/file.h"
#include "topology/names.h"
#include "transport/names.h"

namespace heddle::bench {
namespace {

struct Arguments {
  std::string topology;
  std::vector<std::string> flows;
  BulkFlowOptions flow;
  double seconds = 2;
  double warm_up_s = 0.5;
  uint64_t seed = 1;
};

CLI::IsMember one_of(std::span<const std::string_view> names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("topology", arguments.topology, "a topology file")->required();
  app.add_option("--flow", arguments.flows, "FROM:TO, two hosts; may be given often")->required();
  app.add_option("--cc", arguments.flow.congestion, "congestion control")
      ->check(one_of(transport::controller_names()))
      ->capture_default_str();
  app.add_option("--selector", arguments.flow.selector, "path selector")
      ->check(one_of(transport::selector_names()))
      ->capture_default_str();
  app.add_option("--paths", arguments.flow.paths, "paths of a connection")->capture_default_str();
  app.add_flag("--discovery", arguments.flow.discovery, "find the ways, and use paths of each");
  app.add_option("--size", arguments.flow.message_bytes, "bytes of a message")
      ->capture_default_str();
  app.add_option("--receive-capacity", arguments.flow.receive_capacity.count,
                 "bytes that a receiver holds before it reads them")
      ->capture_default_str();
  app.add_option("-t,--seconds", arguments.seconds, "simulated time that is measured")
      ->capture_default_str();
  app.add_option("--warm-up", arguments.warm_up_s, "and before")->capture_default_str();
  app.add_option("--seed", arguments.seed, "of all random choices")->capture_default_str();
  app.footer(
      "Prints one JSON document. Example:\n"
      "  heddle-bench-simulated lab/examples/two_leaf_four_spine.toml --flow h0:h2 --paths 32");
}

Nanos nanos_of(double seconds) { return {static_cast<int64_t>(seconds * 1e9)}; }

// Errors: kInvalid.
Result<FlowEnds> parse_flow(const topology::Topology& topology, const std::string& text) {
  const size_t colon = text.find(':');
  const auto nic = [&](const std::string& name) {
    const auto node = topology::find_node(topology, name);
    return node && node->kind == topology::NodeKind::kNic ? node->index : UINT32_MAX;
  };
  const FlowEnds ends{nic(text.substr(0, colon)),
                      nic(colon == std::string::npos ? "" : text.substr(colon + 1))};
  if (ends.from != UINT32_MAX && ends.to != UINT32_MAX) return ends;
  return fail(ErrorCode::kInvalid, fmt::format("'{}' is no flow", text),
              "it does not name two hosts of the topology", "write it as h0:h2");
}

nlohmann::json to_json(const TransferResult& result) {
  nlohmann::json flow = {
      {"goodput_mbits_per_s", result.goodput_mbits_per_s},
      {"longest_gap_ms", result.longest_gap_ms},
      {"segments_sent", result.segments_sent},
      {"segments_retransmitted", result.segments_retransmitted},
      {"segments_retransmitted_spuriously", result.segments_retransmitted_spuriously},
      {"segment_bytes", result.segment_bytes},
      {"smoothed_rtt_us", result.smoothed_rtt_us},
      {"window_bytes", result.window_bytes},
      {"interval_ms", 20},
      {"interval_bytes", result.interval_bytes},
      {"messages_failed", result.messages_failed}};
  return flow;
}

Result<nlohmann::json> run(const Arguments& arguments) {
  Result<topology::Topology> topology = topology::read_topology_file(arguments.topology);
  if (!topology) return fail(topology.error());
  TransferOptions options{.flow = arguments.flow,
                          .flows = {},
                          .warm_up = nanos_of(arguments.warm_up_s),
                          .span = nanos_of(arguments.seconds),
                          .seed = arguments.seed};
  for (const std::string& text : arguments.flows) {
    Result<FlowEnds> ends = parse_flow(*topology, text);
    if (!ends) return fail(ends.error());
    options.flows.push_back(*ends);
  }
  nlohmann::json document = {
      {"topology", arguments.topology},        {"congestion", arguments.flow.congestion},
      {"selector", arguments.flow.selector},   {"paths", arguments.flow.paths},
      {"discovery", arguments.flow.discovery}, {"seed", arguments.seed}};
  for (const TransferResult& result : run_transfers(*topology, options)) {
    document["flows"].push_back(to_json(result));
  }
  return document;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Simulates bulk transfers over a fabric.", "heddle-bench-simulated");
  declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  const Result<nlohmann::json> document = run(arguments);
  if (!document) {
    const Error& error = document.error();
    fmt::print(stderr, "heddle-bench-simulated: {}: {} ({})\n", error.what, error.why, error.todo);
    return 2;
  }
  fmt::print("{}\n", document->dump(1));
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) { return heddle::bench::main_of(argc, argv); }
