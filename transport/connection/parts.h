// ConnectionParts: the parts of one connection on which its senders, receivers and extensions work.
// Connection owns them and passes events to them; no part knows Connection.
#pragma once

#include "transport/connection/control_queue.h"
#include "transport/connection/flow_control.h"
#include "transport/connection/identity.h"
#include "transport/connection/keep_alive.h"
#include "transport/connection/packet_keys.h"
#include "transport/connection/packet_router.h"
#include "transport/connection/payload_strategy.h"
#include "transport/connection/receiver_share.h"
#include "transport/connection/shared.h"
#include "transport/messages/incoming.h"
#include "transport/messages/outgoing.h"
#include "transport/recovery/acknowledgements.h"
#include "transport/send/send_controller.h"

namespace heddle::transport {

struct ConnectionParts {
  ConnectionParts(Shared& endpoint, const ConnectionIdentity& names, SentBurstListener& listener)
      : shared(endpoint),
        identity(names),
        outgoing(endpoint.out, endpoint.retransmissions, endpoint.completions, names.id),
        incoming({endpoint.in, endpoint.eager, endpoint.completions, endpoint.placements}, names.id,
                 {endpoint.options.max_channels, endpoint.options.max_posted,
                  endpoint.options.eager_blocks}),
        sender(endpoint.sent, endpoint.observer, names.id, listener),
        acks(endpoint.ranges),
        control(endpoint.observer, names.id),
        keep_alive(sender, endpoint.observer, names.id, endpoint.options.peer_dead_after),
        keys(endpoint, identity),
        share(endpoint),
        datagrams(sender, endpoint.random),
        payload(&datagrams) {}

  // What the peer may have in flight towards this side. Flow control bounds all peers together.
  uint64_t own_window() const {
    return flow_control != nullptr ? shared.options.receive_capacity.count : share.window();
  }
  // Whether it has payload to receive or to send: then its peer is checked more often.
  bool busy() const { return outgoing.posted() > 0 || incoming.posted() > 0; }

  Shared& shared;
  ConnectionIdentity identity;
  Outgoing outgoing;
  Incoming incoming;
  SendController sender;
  AckManager acks;
  ControlQueue control;
  KeepAlive keep_alive;
  PacketKeys keys;
  ReceiverShare share;
  ConnectionStatistics statistics;
  bool paths_chosen = false;   // by the application
  bool reports_due = false;    // an extension has frames for the next control packet
  uint32_t arriving_step = 0;  // payload of a segment of the latest burst that arrived; 0: none

  // Extensions that are open may take these.
  PayloadStrategy datagrams;
  PayloadStrategy* payload;
  FlowControl* flow_control = nullptr;
  PacketRouter* router = nullptr;
};

}  // namespace heddle::transport
