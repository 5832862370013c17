// Options about the links and switches of a .topo: see fabric_options.h.
#include "apps/cli/sim/fabric_options.h"

#include <fmt/core.h>

#include <optional>

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/sim/size_option.h"
#include "base/quantity.h"
#include "simulator/packet.h"
#include "topology/params.h"
#include "topology/quantity.h"
#include "transport/tx_batch.h"

namespace heddle::cli {
namespace {

// Larger packets are never sent.
constexpr uint32_t kLargestMtu = transport::TxBatch::kLargestPacket + simulator::kIpUdpBytes;

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
  options.use.ecn_ramp_per_million = topology::params::kUsualRampPerMillion;
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

Result<void> take_balancing(FabricOptions& options) {
  topology::SwitchShape& shape = options.use.switches;
  shape.balancing = topology::balancing_named(options.balancing).value_or(shape.balancing);
  if (options.flowlet_gap.empty()) return {};
  if (shape.balancing != topology::Balancing::kFlowlet) {
    return bad("--flowlet-gap says when a flowlet ends",
               "give --balancing flowlet, or leave it out");
  }
  const Result<Nanos> gap = parse_duration(options.flowlet_gap);
  if (!gap) return fail(gap.error());
  shape.flowlet_gap = *gap;
  return {};
}

}  // namespace

namespace {

constexpr const char* kGroup = "Links and switches of htsim's .topo";

}  // namespace

void add_fabric_options(CLI::App& sim, FabricOptions& options) {
  const auto add = [&](const char* name, auto& value, const std::string& about, const char* type) {
    CLI::Option* const option = sim.add_option(name, value, about)->type_name(type)->group(kGroup);
    options.all.push_back(option);
    return option;
  };
  const auto size = [&](const char* name, std::string& value, const char* about, uint64_t least) {
    return add(name, value, about, "SIZE")->check(size_value(least));
  };
  const auto flag = [&](const char* name, bool& value, const char* about) {
    options.all.push_back(sim.add_flag(name, value, about)->group(kGroup));
  };
  add("--mtu", options.use.mtu_bytes, fmt::format("largest IP packet, 1280 to {}", kLargestMtu),
      "BYTES")
      ->check(whole_number(1'280, kLargestMtu))
      ->capture_default_str();
  size("--queue", options.queue, "queue of a link in each direction", 1)->default_str("1M");
  size("--ecn-threshold", options.ecn_threshold, "mark packets that find more queued", 0);
  size("--ecn-min", options.ecn_min, "mark a growing share of packets that find more queued", 0);
  size("--ecn-max", options.ecn_max, "mark all packets that find more queued", 1);
  add("--ecn-max-probability", options.ecn_max_probability,
      "share that is marked just below --ecn-max", "PERCENT")
      ->default_str("10%");
  size("--buffer", options.buffer, "buffer that all ports of a switch share", 1);
  add("--alpha", options.alpha, "a queue holds at most this multiple of the free buffer",
      "FRACTION")
      ->default_str("1");
  flag("--trim", options.use.switches.trims,
       "cut packets that find no room to their headers, and forward these");
  flag("--pfc", options.use.switches.lossless, "pause senders in place of dropping packets (PFC)");
  size("--xoff", options.xoff, "with --pfc: pause a sender that has more queued", 1)
      ->default_str("what fits");
  size("--xon", options.xon, "with --pfc: end its pause below this", 1)
      ->default_str("two packets below --xoff");
  add("--balancing", options.balancing, "how switches choose among shortest routes",
      "ecmp|flowlet|spray|adaptive")
      ->check(one_of({topology::kBalancingNames.begin(), topology::kBalancingNames.end()}))
      ->capture_default_str();
  add("--flowlet-gap", options.flowlet_gap,
      "with --balancing flowlet: packets further apart may take another link", "DURATION")
      ->check(duration_value())
      ->default_str("100us");
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
  if (Result<void> taken = take_balancing(options); !taken) return taken;
  return take_switches(options);
}

}  // namespace heddle::cli
