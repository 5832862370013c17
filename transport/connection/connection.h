// Connection: routes requests, packets and time to the parts that own a connection's state
// (parts.h), to the handshake and the close, and to the extensions (transport/extensions/). Driven
// by the endpoint; see transport/endpoint.h for the order of calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/connection/close.h"
#include "transport/connection/ending.h"
#include "transport/connection/handshake.h"
#include "transport/connection/parts.h"
#include "transport/connection/send_turn.h"
#include "transport/connection/sent_feedback.h"
#include "transport/extensions/extension_set.h"

namespace heddle::transport {

class Connection final {
 public:
  Connection(Shared& shared, ConnectionId id, WireId wire_id, const Address& peer);

  // --- making it ---
  // This side asks. Errors: kInvalid for a name that is not in a table.
  Result<void> begin_connect(Nanos now, const ConnectionOptions& options) {
    return handshake_.begin_connect(now, options);
  }
  // The peer asked, at this NIC, and proved its address. Errors: kInvalid for an unknown congestion
  // controller, kUnavailable where no datagram of a usable size passes.
  Result<void> begin_accept(Nanos now, const InitPacket& init, uint8_t nic);
  // The peer asks again, perhaps from another of its NICs: the accept was lost.
  void repeat_accept(const InitPacket& init, const Address& from, uint8_t nic);
  // Whether this init made it.
  bool made_by(const InitPacket& init) const { return handshake_.made_by(init); }

  // --- requests; see Endpoint ---
  Result<void> post_send(Nanos now, ChannelId channel, const Payload& payload,
                         OperationId operation, AckPolicy ack_policy);
  Result<void> post_receive(Nanos now, ChannelId channel, const PostedReceive& receive);
  bool post_cancel(Nanos now, ChannelId channel, Direction direction, OperationId operation);
  void fill_at_once(ChannelId channel, OperationId receive) {
    parts_.incoming.fill_at_once(channel, receive);
  }
  Result<void> post_paths(Nanos now, std::span<const uint16_t> paths);
  Result<void> post_plan(Nanos now, std::span<const PlannedShare> shares);
  Result<void> post_discovery(Nanos now);
  void post_close(Nanos now);
  void post_abort(Nanos now);

  // --- input ---
  // Data segments whose headers continue each other.
  void handle_data(Nanos now, const DataBurst& burst);
  // `packet`: what of it is in the frame of `run`, whose segment `index` it is.
  void handle_control(Nanos now, const RxRun& run, uint32_t index,
                      std::span<const std::byte> packet);
  void handle_nic_event(Nanos now, const NicEvent& event);
  // A packet of which a switch left only the header.
  void handle_trimmed(Nanos now, const ConnectionHeader& header);
  // `nic`: of this host, that the packet was sent to.
  void handle_retry(Nanos now, const RetryPacket& retry, uint8_t nic);
  void handle_accept(Nanos now, const AcceptPacket& accept, uint8_t nic);
  // Why the peer will not connect.
  struct Refusal {
    ErrorCode code = ErrorCode::kUnavailable;
    events::CloseCause cause = events::CloseCause::kRefused;
    const char* why = "";
    const char* todo = "";
  };
  void handle_refusal(Nanos now, const Refusal& refusal, uint64_t nonce);
  // False: not believed, since no packet that it names awaits an acknowledgement.
  bool handle_reset(Nanos now, const ResetPacket& reset);
  void handle_network_error(Nanos now, const NetworkError& error);
  void handle_timeout(Nanos now);

  // --- with cluster keys; see PacketKeys ---
  const RingKey* key() const { return parts_.keys.cluster_key(); }
  const KeyNonce& key_nonce() const { return parts_.keys.initiator_nonce(); }
  PacketKey* receive_key(const ConnectionHeader& header, events::DropReason& why);
  HeaderTags* receive_tags(const ConnectionHeader& header, uint32_t segments,
                           events::DropReason& why, bool& apart);
  void note_authentic(const ConnectionHeader& header) { parts_.keys.note_authentic(header); }
  bool confirmed() const { return parts_.keys.confirmed(); }
  // Something without proof says that there will be no connection: mentioned if there is none.
  void note_hint(const char* why) { handshake_.note_hint(why); }

  // --- output ---
  // Adds what may leave in this turn. `others_wait`: other connections have something to send.
  TurnEnd transmit(Nanos now, TxBatch& batch, bool others_wait);
  Nanos next_timeout();
  bool predict(Prediction& prediction) const;

  // --- what it is ---
  ConnectionId id() const { return parts_.identity.id; }
  WireId wire_id() const { return parts_.identity.wire_id; }
  const Address& peer() const { return parts_.identity.peer; }
  // Whether the peer may send from this address.
  bool is_peer(const Address& from) const {
    return peer().host == from.host || (parts_.router != nullptr && parts_.router->knows(from));
  }
  uint32_t peer_id() const { return parts_.identity.peer_id; }
  WireId peer_wire_id() const { return parts_.identity.peer_wire_id; }
  // The address it was made with: where the peer receives may change.
  Address made_with() const {
    return {peer().host, peer().scope, parts_.identity.created_with_port};
  }
  bool handshaking() const { return state_ == events::ConnectionState::kHandshaking; }
  bool over() const { return state_ == events::ConnectionState::kClosed; }
  // Over, with nothing left to do: it may be destroyed.
  bool gone() const { return over() && close_.complete(); }
  const ConnectionStatistics& statistics();
  std::vector<PathStatistics> path_statistics() const;
  // False: the application did not ask for the routes.
  bool routes(FabricRoutes& found) const;
  size_t bytes_held() const;
  // Its latest payload counts no more if it arrived before `horizon`.
  void settle_receiving(Nanos horizon) { parts_.share.expire(horizon); }

 private:
  Result<void> open(Nanos now, const HandshakeParameters& peer, Nanos first_rtt);
  void set_state(Nanos now, events::ConnectionState state);
  void finish(Nanos now, Ending ending);
  void end_receives();
  void advance_close(Nanos now);
  void handle_handshake_timeout(Nanos now);
  void send_cancels();
  TurnEnd fill(Nanos now, TxBatch& batch, bool others_wait);
  void watch_peer(Nanos now);
  void drop(Nanos now, events::DropReason reason) const {
    parts_.shared.observer.drop(now, id(), reason);
  }

  ConnectionParts parts_;
  ExtensionSet extensions_;
  Handshake handshake_;
  Close close_;
  SentFeedback feedback_;
  SendTurn turn_;
  events::ConnectionState state_ = events::ConnectionState::kHandshaking;
};

}  // namespace heddle::transport
