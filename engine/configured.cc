// Options from the configuration: see configured.h.
#include "engine/configured.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/engine_options.h"
#include "engine/key_file.h"
#include "engine/plan_follower.h"
#include "transport/names.h"
#include "transport/stranger_budget.h"

namespace heddle::engine {
namespace {

Result<void> check_name(const Config& config, std::string_view key,
                        std::span<const std::string_view> names) {
  const std::string& value = config.text(key);
  if (std::find(names.begin(), names.end(), value) != names.end()) return {};
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  std::string origin;
  for (const ConfigEntry& entry : config.entries()) {
    if (entry.key->name == key) origin = entry.origin;
  }
  return fail(ErrorCode::kInvalid, "cannot use " + std::string(key) + " '" + value + "'",
              "it is set by " + origin + ", and there is none of this name",
              "choose one of: " + list);
}

datapath::XdpMode xdp_mode_of(const std::string& name) {
  using datapath::XdpMode;
  return name == "zero_copy" ? XdpMode::kZeroCopy
         : name == "copy"    ? XdpMode::kCopy
         : name == "generic" ? XdpMode::kGeneric
                             : XdpMode::kAuto;
}

}  // namespace

Bytes stranger_share(const Config& config, uint64_t parts) {
  return {static_cast<uint64_t>(config.integer("stranger_bytes")) / kStrangerParts * parts};
}

Result<void> check_stranger_bytes(const Options& options, uint64_t parts, uint32_t peers) {
  const Options engine = engine_options(options, {.count = options.engines});
  transport::EndpointOptions with = engine.transport;
  with.eager_bytes = engine.eager_bytes;
  with.eager_region = 0;  // a registered region, as in an open endpoint
  if (!with.keys.empty() || with.stranger_bytes.count == 0) return {};
  const uint64_t needed = transport::stranger_budget(with).bytes(peers);
  if (needed <= with.stranger_bytes.count) return {};
  return fail(ErrorCode::kExhausted, "cannot accept connections",
              "stranger_bytes is too small for " + std::to_string(peers) +
                  (peers == 1 ? " peer" : " peers") + " without a cluster key",
              "set it to " + std::to_string((needed / parts + 1) * kStrangerParts) +
                  " or more, or use cluster keys (key_file, or `heddle run --protect`)");
}

NetworkOptions configured_network(const Config& config) {
  NetworkOptions network;
  network.bind = config.text("bind");
  const std::string& kind = config.text("datapath");
  if (kind == "xdp") network.datapath = DatapathKind::kXdp;
  if (kind == "verbs") network.datapath = DatapathKind::kVerbs;
  if (kind == "auto") network.datapath = DatapathKind::kAuto;
  network.xdp_mode = xdp_mode_of(config.text("xdp_mode"));
  network.xdp_busy_poll_us = static_cast<uint32_t>(config.integer("xdp_busy_poll_us"));
  const std::string& rdma = config.text("rdma_mode");
  if (rdma == "uc") network.rdma_mode = datapath::RdmaMode::kUnreliable;
  if (rdma == "ud") network.rdma_mode = datapath::RdmaMode::kDatagrams;
  network.mtu_bytes = static_cast<uint32_t>(config.integer("mtu_bytes"));
  network.traffic_class = static_cast<uint8_t>(config.integer("dscp") << 2);
  network.receive_buffer_bytes = static_cast<uint32_t>(config.integer("receive_buffer_bytes"));
  return network;
}

Result<std::vector<transport::ClusterKey>> configured_keys(const Config& config) {
  const std::string& path = config.text("key_file");
  const std::string& protection = config.text("protection");
  // A configuration that requests protection must never run unprotected because its key is missing.
  if (path.empty() && transport::protection_of(protection)) {
    return fail(ErrorCode::kInvalid, "cannot protect anything",
                "protection is '" + protection + "', and no key_file is set",
                "'heddle key generate FILE' makes a key; `heddle run --protect` does so for a run");
  }
  if (path.empty() || protection == "none") return std::vector<transport::ClusterKey>();
  return read_key_file(path);
}

Result<Options> configured_options(const Config& config) {
  if (auto known = check_name(config, "congestion", transport::controller_names()); !known) {
    return fail(known.error());
  }
  if (auto known = check_name(config, "selector", transport::selector_names()); !known) {
    return fail(known.error());
  }
  Options options;
  transport::EndpointOptions& transport = options.transport;
  transport.default_paths = static_cast<uint16_t>(config.integer("paths"));
  transport.max_paths = std::max(transport.max_paths, transport.default_paths);
  transport.congestion = config.text("congestion");
  transport.receive_rate =
      megabits_per_s(static_cast<uint64_t>(config.integer("receive_rate_mbits_per_s")));
  const std::string& plan = config.text("plan");
  transport.selector = plan.empty() ? config.text("selector") : PlanFollower::selector_with(plan);
  transport.discovery = config.text("discovery") == "auto" ? transport::DiscoveryMode::kAuto
                                                           : transport::DiscoveryMode::kNever;
  transport.peer_dead_after = millis(config.integer("peer_dead_after_ms"));
  transport.handshake_timeout = millis(config.integer("handshake_timeout_ms"));
  transport.close_timeout = millis(config.integer("close_timeout_ms"));
  transport.stranger_bytes = stranger_share(config, kEndpointParts);
  transport.unsealed_chunks = config.boolean("unsealed_chunks");
  Result<std::vector<transport::ClusterKey>> keys = configured_keys(config);
  if (!keys) return fail(keys.error());
  transport.keys = std::move(*keys);
  transport.protection =
      transport::protection_of(config.text("protection")).value_or(transport::Protection::kFull);
  Result<datapath::FecOptions> fec = datapath::parse_fec(config.text("fec"));
  if (!fec) return fail(fec.error());
  options.fec = *fec;
  options.recording.directory = config.text("record");
  options.recording.most = mebibytes(static_cast<uint64_t>(config.integer("record_mebibytes")));
  options.recording.durable = seconds(config.integer("record_durable_seconds"));
  options.recording.level = events::record_level(config.text("record_level"));
  options.recording.node = config.boolean("record_node");
  options.engines = static_cast<uint8_t>(config.integer("engines"));
  options.drive = config.text("drive") == "thread" ? Drive::kThread : Drive::kInline;
  const std::string& spin = config.text("spin");
  options.spin = spin == "never" ? Spin::kNever : spin == "always" ? Spin::kAlways : Spin::kAuto;
  return options;
}

}  // namespace heddle::engine
