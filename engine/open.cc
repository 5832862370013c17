// Endpoint over UDP, AF_XDP or RDMA verbs: resolves names to addresses and opens sockets from
// options.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "datapath/fec.h"
#include "datapath/resolve.h"
#include "datapath/udp.h"
#include "datapath/verbs.h"
#include "datapath/xdp.h"
#include "engine/endpoint.h"
#include "engine/host_port.h"
#include "engine/process_recording.h"

namespace heddle::engine {

namespace {

// To each peer: names of chunk paths have eight bits (transport/wire).
constexpr uint16_t kMostQueuePairs = 255;

// What the options of all datapaths have in common.
template <typename DatapathOptions>
DatapathOptions attachment(const NetworkOptions& network, const Options& options) {
  DatapathOptions to;
  to.bind = network.bind;
  to.port = network.port;
  to.paths = std::max(options.transport.max_paths, options.transport.default_paths);
  to.mtu_bytes = network.mtu_bytes;
  to.traffic_class = network.traffic_class;
  if (network.receive_buffer_bytes > 0) to.receive_buffer = {network.receive_buffer_bytes};
  return to;
}

using Opened = Result<std::unique_ptr<datapath::Datapath>>;

Opened open_udp(const NetworkOptions& network, const Options& options) {
  return datapath::open_udp(attachment<datapath::UdpOptions>(network, options));
}

Opened open_verbs(const NetworkOptions& network, const Options& options, bool hardware_only) {
  const bool writes = network.rdma_mode != datapath::RdmaMode::kDatagrams;
  if (writes && !options.transport.keys.empty() && !options.transport.unsealed_chunks) {
    return fail(ErrorCode::kInvalid, "cannot use RDMA verbs with a cluster key",
                "what a NIC writes remotely is neither encrypted nor authenticated",
                "set rdma_mode to ud or datapath to udp, or unsealed_chunks to true on a network "
                "that you trust");
  }
  if (writes && options.fec.on()) {
    return fail(ErrorCode::kInvalid, "cannot use RDMA verbs with fec",
                "what a NIC writes remotely has no parity",
                "set rdma_mode to ud or datapath to udp, or fec to off");
  }
  auto verbs = attachment<datapath::VerbsOptions>(network, options);
  verbs.mode = network.rdma_mode;
  verbs.hardware_only = hardware_only;
  verbs.chunk_paths = std::min<uint16_t>(options.transport.default_paths, kMostQueuePairs);
  return datapath::open_verbs(verbs);
}

Opened open_xdp(const NetworkOptions& network, const Options& options) {
  auto xdp = attachment<datapath::XdpOptions>(network, options);
  xdp.mode = network.xdp_mode;
  return datapath::open_xdp(xdp);
}

Opened open_best(const NetworkOptions& network, const Options& options) {
  Opened verbs = open_verbs(network, options, true);
  if (verbs) return verbs;
  log_info("datapath auto takes UDP: {}", verbs.error().message());
  return open_udp(network, options);
}

using SeveralOpened = Result<std::vector<std::shared_ptr<datapath::Datapath>>>;

// The datapaths of several engines.
SeveralOpened open_engines(const NetworkOptions& network, const Options& options) {
  const std::string what = "cannot use " + std::to_string(options.engines) + " engines";
  if (options.engines == 0 || options.engines > transport::kMostEngines) {
    return fail(ErrorCode::kInvalid, what, "an endpoint has 1 to 16",
                "set engines to one of these");
  }
  const bool xdp = network.datapath == DatapathKind::kXdp;
  if (xdp || network.datapath == DatapathKind::kVerbs) {
    return fail(ErrorCode::kInvalid, what,
                std::string(xdp ? "XDP sockets" : "RDMA verbs") + " have one engine an endpoint",
                "set engines to 1 or datapath to udp");
  }
  if (network.datapath == DatapathKind::kAuto) {
    log_info("datapath auto takes UDP: RDMA verbs have one engine an endpoint");
  }
  Result<std::vector<std::unique_ptr<datapath::Datapath>>> opened = datapath::open_udp_engines(
      attachment<datapath::UdpOptions>(network, options), options.engines);
  if (!opened) return fail(opened.error());
  std::vector<std::shared_ptr<datapath::Datapath>> made;
  for (std::unique_ptr<datapath::Datapath>& each : *opened) {
    if (options.fec.on()) {
      Opened corrected = datapath::with_fec(std::move(each), options.fec);
      if (!corrected) return fail(corrected.error());
      each = std::move(*corrected);
    }
    made.push_back(std::move(each));
  }
  return made;
}

Opened open_datapath(const NetworkOptions& network, const Options& options) {
  switch (network.datapath) {
    case DatapathKind::kXdp:
      return open_xdp(network, options);
    case DatapathKind::kVerbs:
      return open_verbs(network, options, false);
    case DatapathKind::kAuto:
      return open_best(network, options);
    case DatapathKind::kUdp:
      break;
  }
  return open_udp(network, options);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const NetworkOptions& network,
                                                 const Options& options) {
  Options timed = options;
  timed.recording.clock = &recording_clock;
  if (options.engines != 1) {
    SeveralOpened engines = open_engines(network, options);
    if (!engines) return fail(engines.error());
    return create(*engines, timed);
  }
  Result<std::unique_ptr<datapath::Datapath>> opened = open_datapath(network, options);
  if (!opened) return fail(opened.error());
  if (options.fec.on()) {
    opened = datapath::with_fec(std::move(*opened), options.fec);
    if (!opened) return fail(opened.error());
  }
  return create(std::shared_ptr<datapath::Datapath>(std::move(*opened)), timed);
}

Result<Connection> Endpoint::connect(const std::string& name, uint16_t default_port,
                                     const ConnectionOptions& options) {
  const Result<HostPort> parts = parse_host_port(name, default_port);
  if (!parts) return fail(parts.error());
  const Result<transport::Address> peer = datapath::resolve(parts->host, parts->port);
  if (!peer) return fail(peer.error());
  return connect(*peer, options);
}

}  // namespace heddle::engine
