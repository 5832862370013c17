// SharedPort: several sockets on one port of each NIC, an engine each. The kernel gives a datagram
// to the engine that it names (transport/engine_share.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "datapath/udp.h"
#include "datapath/udp/socket.h"

namespace heddle::datapath {

// The receive sockets of one engine, one per NIC.
using EngineSockets = std::vector<ReceiveSocket>;

// Opens the sockets of `engines` (at least 2), each at the same NICs and the same port. Errors:
// those of open_receive_sockets(): a port of other sockets is in use, whatever they share.
Result<std::vector<EngineSockets>> open_shared_port(const UdpOptions& options, uint8_t engines);

}  // namespace heddle::datapath
