// Options about the links and switches of a .topo: see fabric_options.h.
#include "apps/cli/sim/fabric_options.h"

#include <fmt/core.h>

#include <optional>

#include "apps/cli/sim/size_option.h"
#include "simulator/packet.h"
#include "topology/quantity.h"
#include "transport/tx_batch.h"

namespace heddle::cli {
namespace {

// Larger packets are never sent.
constexpr uint32_t kLargestMtu = transport::TxBatch::kLargestPacket + simulator::kIpUdpBytes;
constexpr uint32_t kUsualRampPerMillion = 100'000;

Unexpected bad(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot read the command line", why, todo);
}

// RED's ramp, from --ecn-min to --ecn-max.
Result<void> take_ramp(FabricOptions& options) {
  const bool given = !options.ecn_min.empty() || !options.ecn_max.empty();
  if (!given && options.ecn_max_probability.empty()) return {};
  if (options.ecn_min.empty() || options.ecn_max.empty()) {
    return bad("--ecn-min and --ecn-max make one ramp", "give both");
  }
  if (!options.ecn_threshold.empty()) {
    return bad("--ecn-threshold and a ramp exclude each other", "give one of them");
  }
  Bytes most;
  const SizeOption sizes[] = {{"--ecn-min", options.ecn_min, options.use.ecn_threshold, 0},
                              {"--ecn-max", options.ecn_max, most, 1}};
  for (const SizeOption& each : sizes) {
    if (Result<void> taken = take_size(each); !taken) return taken;
  }
  if (most <= options.use.ecn_threshold) return bad("--ecn-max is not above --ecn-min", "raise it");
  options.use.ecn_ramp = most - options.use.ecn_threshold;
  options.use.ecn_ramp_per_million = kUsualRampPerMillion;
  if (options.ecn_max_probability.empty()) return {};
  const std::optional<uint32_t> share = topology::parse_share(options.ecn_max_probability);
  if (!share) {
    return bad("--ecn-max-probability is " + options.ecn_max_probability, "give a share like 10%");
  }
  options.use.ecn_ramp_per_million = *share;
  return {};
}

// What all switches do.
Result<void> take_switches(FabricOptions& options) {
  topology::SwitchShape& shape = options.use.switches;
  const SizeOption sizes[] = {{"--buffer", options.buffer, shape.buffer, 1},
                              {"--xoff", options.xoff, shape.xoff, 1},
                              {"--xon", options.xon, shape.xon, 1}};
  for (const SizeOption& each : sizes) {
    if (Result<void> taken = take_size(each); !taken) return taken;
  }
  const bool shares = !options.buffer.empty();
  if (!shares && (shape.lossless || !options.alpha.empty())) {
    return bad("the switches have no buffer that their ports share", "give --buffer, like 32MB");
  }
  if (shape.lossless && shape.trims) {
    return bad("--pfc drops nothing, so --trim has nothing to do", "give one of them");
  }
  if (!shape.lossless && !(options.xoff.empty() && options.xon.empty())) {
    return bad("--xoff and --xon say when a lossless switch pauses",
               "give --pfc, or leave them out");
  }
  if (options.alpha.empty()) return {};
  const auto alpha = topology::parse_fraction(options.alpha);
  if (!alpha)
    return bad("--alpha is " + options.alpha, "give a number or a fraction, like 8 or 1/2");
  shape.alpha = alpha->first;
  shape.alpha_divisor = alpha->second;
  return {};
}

}  // namespace

void add_fabric_options(CLI::App& sim, FabricOptions& options) {
  const auto add = [&](const char* name, auto& value, const std::string& text, const char* type) {
    CLI::Option* const option = sim.add_option(name, value, text)->type_name(type);
    options.all.push_back(option);
    return option;
  };
  add("--mtu", options.use.mtu_bytes,
      fmt::format("of a .topo's links: the largest IP packet, 1280 to {} (default: {})",
                  kLargestMtu, options.use.mtu_bytes),
      "N")
      ->check(CLI::Range(1'280u, kLargestMtu));
  add("--queue", options.queue, "of a .topo's links, each direction (default: 1MiB)", "SIZE");
  add("--ecn-threshold", options.ecn_threshold,
      "of a .topo's links: mark packets that find more waiting", "SIZE");
  add("--ecn-min", options.ecn_min,
      "of a .topo's links: mark more and more of the packets that find more waiting", "SIZE");
  add("--ecn-max", options.ecn_max, "of a .topo's links: mark all that find so much waiting",
      "SIZE");
  add("--ecn-max-probability", options.ecn_max_probability,
      "of a .topo's links: the share that is marked just below --ecn-max (default: 10%)", "SHARE");
  add("--buffer", options.buffer, "of a .topo's switches: a memory that all ports share", "SIZE");
  add("--alpha", options.alpha,
      "of a .topo's switches: a queue holds so many times what is free (default: 1)", "FRACTION");
  options.all.push_back(
      sim.add_flag("--trim", options.use.switches.trims,
                   "a .topo's switches send the headers of packets on that find no room"));
  options.all.push_back(
      sim.add_flag("--pfc", options.use.switches.lossless,
                   "a .topo's switches pause who sends to them and drop nothing"));
  add("--xoff", options.xoff, "of --pfc: pause who has more waiting (default: what fits)", "SIZE");
  add("--xon", options.xon, "of --pfc: and let go on at so much (default: two packets less)",
      "SIZE");
}

Result<void> take_fabric_options(FabricOptions& options, bool of_htsim) {
  for (const CLI::Option* option : options.all) {
    if (option->count() == 0 || of_htsim) continue;
    return bad(option->get_name() + " is for htsim's .topo files", "say it in the topology file");
  }
  const SizeOption sizes[] = {
      {"--queue", options.queue, options.use.queue, 1},
      {"--ecn-threshold", options.ecn_threshold, options.use.ecn_threshold, 0}};
  for (const SizeOption& each : sizes) {
    if (Result<void> taken = take_size(each); !taken) return taken;
  }
  if (Result<void> taken = take_ramp(options); !taken) return taken;
  return take_switches(options);
}

}  // namespace heddle::cli
