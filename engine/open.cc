// Endpoint over UDP, AF_XDP or RDMA verbs: resolves names to addresses and opens sockets from
// options.
#include <algorithm>

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

Result<std::unique_ptr<datapath::Datapath>> open_datapath(const NetworkOptions& network,
                                                          const Options& options) {
  if (network.datapath == DatapathKind::kUdp) {
    return datapath::open_udp(attachment<datapath::UdpOptions>(network, options));
  }
  if (network.datapath == DatapathKind::kVerbs) {
    if (!options.transport.keys.empty() && !options.transport.unsealed_chunks) {
      return fail(ErrorCode::kInvalid, "cannot use RDMA verbs with a cluster key",
                  "what a NIC writes remotely is neither encrypted nor authenticated",
                  "set datapath to udp, or unsealed_chunks to true on a network that you trust");
    }
    auto verbs = attachment<datapath::VerbsOptions>(network, options);
    verbs.mode = network.rdma_mode;
    verbs.chunk_paths = std::min<uint16_t>(options.transport.default_paths, kMostQueuePairs);
    return datapath::open_verbs(verbs);
  }
  auto xdp = attachment<datapath::XdpOptions>(network, options);
  xdp.mode = network.xdp_mode;
  return datapath::open_xdp(xdp);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const NetworkOptions& network,
                                                 const Options& options) {
  Result<std::unique_ptr<datapath::Datapath>> opened = open_datapath(network, options);
  if (!opened) return fail(opened.error());
  Options timed = options;
  timed.recording.clock = &recording_clock;
  return create(std::move(*opened), timed);
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
