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

// The datapaths of an endpoint, one per engine.
using Datapaths = std::vector<std::unique_ptr<datapath::Datapath>>;
using Opened = Result<Datapaths>;

// By `open_one` or, for several engines, `open_several`.
template <typename DatapathOptions>
Opened open_with(Result<std::unique_ptr<datapath::Datapath>> (*open_one)(const DatapathOptions&),
                 Opened (*open_several)(const DatapathOptions&, uint8_t),
                 const DatapathOptions& options, uint8_t engines) {
  if (engines > 1) return open_several(options, engines);
  Result<std::unique_ptr<datapath::Datapath>> opened = open_one(options);
  if (!opened) return fail(std::move(opened).error());
  Datapaths one;
  one.push_back(std::move(*opened));
  return one;
}

Opened open_udp(const NetworkOptions& network, const Options& options) {
  const auto udp = attachment<datapath::UdpOptions>(network, options);
  return open_with(&datapath::open_udp, &datapath::open_udp_engines, udp, options.engines);
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
  return open_with(&datapath::open_verbs, &datapath::open_verbs_engines, verbs, options.engines);
}

Opened open_xdp(const NetworkOptions& network, const Options& options) {
  auto xdp = attachment<datapath::XdpOptions>(network, options);
  xdp.mode = network.xdp_mode;
  xdp.busy_poll_us = network.xdp_busy_poll_us;
  return open_with(&datapath::open_xdp, &datapath::open_xdp_engines, xdp, options.engines);
}

Opened open_best(const NetworkOptions& network, const Options& options) {
  Opened verbs = open_verbs(network, options, true);
  if (verbs) {
    log_info("datapath auto takes RDMA verbs");
    return verbs;
  }
  log_info("datapath auto takes UDP: {}", verbs.error().message());
  return open_udp(network, options);
}

Opened open_plain(const NetworkOptions& network, const Options& options) {
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

Opened open_datapaths(const NetworkOptions& network, const Options& options) {
  if (options.engines == 0 || options.engines > transport::kMostEngines) {
    return fail(ErrorCode::kInvalid, "cannot use " + std::to_string(options.engines) + " engines",
                "an endpoint has 1 to 16", "set engines to one of these");
  }
  Opened opened = open_plain(network, options);
  if (!opened || !options.fec.on()) return opened;
  for (std::unique_ptr<datapath::Datapath>& each : *opened) {
    auto corrected = datapath::with_fec(std::move(each), options.fec);
    if (!corrected) return fail(corrected.error());
    each = std::move(*corrected);
  }
  return opened;
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const NetworkOptions& network,
                                                 const Options& options) {
  Options timed = options;
  timed.recording.clock = &recording_clock;
  Opened opened = open_datapaths(network, options);
  if (!opened) return fail(opened.error());
  std::vector<std::shared_ptr<datapath::Datapath>> datapaths;
  for (std::unique_ptr<datapath::Datapath>& each : *opened) datapaths.push_back(std::move(each));
  if (datapaths.size() == 1) return create(datapaths.front(), timed);
  return create(datapaths, timed);
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
