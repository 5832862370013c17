// Endpoint over UDP: resolves names to addresses and opens sockets from options.
#include <algorithm>

#include "datapath/resolve.h"
#include "datapath/udp.h"
#include "engine/endpoint.h"
#include "engine/host_port.h"
#include "engine/process_recording.h"

namespace heddle::engine {

Result<std::unique_ptr<Endpoint>> Endpoint::open(const NetworkOptions& network,
                                                 const Options& options) {
  datapath::UdpOptions udp;
  udp.bind = network.bind;
  udp.port = network.port;
  udp.paths = std::max(options.transport.max_paths, options.transport.default_paths);
  udp.mtu_bytes = network.mtu_bytes;
  udp.traffic_class = network.traffic_class;
  if (network.receive_buffer_bytes > 0) udp.receive_buffer = {network.receive_buffer_bytes};
  Result<std::unique_ptr<datapath::Datapath>> opened = datapath::open_udp(udp);
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
