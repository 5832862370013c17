// Ending: why a connection is over: the recorded cause, the application's error, and the peer's
// close frame. One function for each way to end. connection/keep_alive.cc declares a peer dead;
// Connection::finish() carries an Ending out and fails every operation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "events/events.h"
#include "transport/wire/control.h"

namespace heddle::transport {

struct Ending {
  events::CloseCause cause = events::CloseCause::kAborted;
  Error error;
  std::optional<CloseReason> final_frame{};  // nothing: the peer needs none
  uint8_t final_packets = 1;                 // that carry it, each on another path
};

// Both sides know that it is closed.
Ending closed_gracefully();
// The peer's close frame arrived.
Ending closed_by_peer(CloseReason reason);
// The application closed it before it was open.
Ending closed_while_opening();
// The application aborted it.
Ending aborted_here();
// The peer did not take everything before the deadline of a graceful close.
Ending close_timed_out();
// The handshake failed here, after the peer had accepted.
Ending failed_to_open(Error error);
// The peer broke the protocol. `violation`: how.
Ending protocol_violated(const char* violation);
// The peer's endpoint does not know the connection.
Ending reset_by_peer();
// `why`: the peer is considered dead.
Ending peer_died(const char* why);
// ICMP says so of a peer that did not answer yet.
Ending port_closed();

}  // namespace heddle::transport
