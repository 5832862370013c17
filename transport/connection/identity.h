// ConnectionIdentity: the ids and addresses by which both ends know a connection. The handshake
// fills it in.
#pragma once

#include <cstdint>

#include "transport/address.h"
#include "transport/endpoint.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

struct ConnectionIdentity {
  ConnectionIdentity(ConnectionId own_id, WireId own_wire_id, const Address& address)
      : id(own_id), wire_id(own_wire_id), peer(address), created_with_port(address.port) {}

  ConnectionId id;             // of this endpoint's connection
  uint32_t peer_id = 0;        // the same at the peer
  WireId wire_id;              // names it in packets to this side
  WireId peer_wire_id = 0;     // names it in packets to the peer
  Address peer;                // where the peer receives
  uint16_t created_with_port;  // of `peer`, before the handshake changed it
  uint8_t nic = 0;             // of this host, that the handshake uses
  bool initiator = false;
};

}  // namespace heddle::transport
