// A connection's requests, packets and time, and where they go.
#include "transport/connection/connection.h"

#include <algorithm>
#include <utility>

#include "transport/congestion/registry.h"
#include "transport/connection/burst_sender.h"
#include "transport/connection/control_receiver.h"
#include "transport/connection/control_sender.h"
#include "transport/connection/data_receiver.h"
#include "transport/extensions/path_discovery.h"

namespace heddle::transport {

using events::CloseCause;
using events::ConnectionState;
using events::DropReason;

Connection::Connection(Shared& shared, ConnectionId id, WireId wire_id, const Address& peer)
    : parts_(shared, ConnectionIdentity(id, wire_id, peer), feedback_),
      extensions_(parts_),
      handshake_(parts_, extensions_),
      feedback_(parts_, extensions_, close_) {}

// --- making it ---

Result<void> Connection::begin_accept(Nanos now, const InitPacket& init, uint8_t nic) {
  handshake_.begin_accept(init, nic);
  Result<void> opened = open(now, init.parameters, {});
  if (!opened) return opened;
  repeat_accept(init, peer(), nic);
  parts_.shared.notices.push_back({NoticeKind::kAccepted, id(), peer(), {}, false, peer_id()});
  return {};
}

void Connection::repeat_accept(const InitPacket& init, const Address& from, uint8_t nic) {
  if (parts_.router != nullptr) parts_.router->move_home(from, nic);
  handshake_.send_accept_for(init);
}

void Connection::handle_retry(Nanos now, const RetryPacket& retry, uint8_t nic) {
  if (handshaking() && handshake_.is_answer(retry.nonce)) handshake_.on_retry(now, retry, nic);
}

void Connection::handle_accept(Nanos now, const AcceptPacket& accept, uint8_t nic) {
  if (!handshaking() || !handshake_.is_answer(accept.nonce)) return;
  handshake_.on_accept(accept, nic);
  const Nanos rtt = std::max(saturating_difference(now, accept.echoed_sent_at), nanos(1));
  Result<void> opened = open(now, accept.parameters, rtt);
  if (!opened) {
    finish(now, failed_to_open(std::move(opened).error()));
    return;
  }
  handshake_.end();
  parts_.shared.notices.push_back({NoticeKind::kOpened, id(), peer(), {}, false, peer_id()});
  advance_close(now);
}

void Connection::handle_refusal(Nanos now, const Refusal& refusal, uint64_t nonce) {
  if (!handshaking() || !handshake_.is_answer(nonce)) return;
  finish(now, {refusal.cause, {refusal.code, "cannot connect", refusal.why, refusal.todo}});
}

// Both sides know each other's limits now.
Result<void> Connection::open(Nanos now, const HandshakeParameters& peer, Nanos first_rtt) {
  Result<OpenPlan> plan = handshake_.plan(peer, first_rtt);
  if (!plan) return fail(plan.error());
  for (const std::string_view name : controller_names()) {
    if (name == handshake_.options().congestion) parts_.statistics.congestion = name.data();
  }
  parts_.acks.open(parts_.shared.options.max_paths);
  parts_.sender.open(now, std::move(plan->send));
  parts_.incoming.open(peer.max_posted);
  parts_.outgoing.set_limits(plan->peer_limits);
  extensions_.on_open(now, handshake_.agreement_with(peer));
  // The initiator probes: the peer learns that its accept arrived, and a round trip is measured.
  parts_.keep_alive.open(now, parts_.identity.initiator);
  ++parts_.shared.statistics.connections_opened;
  set_state(now, close_.requested() ? ConnectionState::kClosing : ConnectionState::kOpen);
  const Address& to = this->peer();
  parts_.shared.observer.emit(events::ConnectionOpened{
      now, id(), peer_id(), host_part(to, 0), host_part(to, 8), to.port, parts_.sender.paths()});
  return {};
}

void Connection::set_state(Nanos now, ConnectionState state) {
  state_ = state;
  parts_.shared.observer.emit(events::ConnectionChanged{now, id(), state});
}

// --- requests ---

Result<void> Connection::post_send(Nanos now, ChannelId channel, const Payload& payload,
                                   OperationId operation, AckPolicy ack_policy) {
  if (close_.requested() || over()) {
    return fail(ErrorCode::kClosed, "cannot send", "the connection is closed");
  }
  const EndpointOptions& o = parts_.shared.options;
  if (channel >= o.max_channels) {
    return fail(ErrorCode::kInvalid, "cannot send", "no such channel");
  }
  watch_peer(now);
  parts_.shared.reserve_completions();
  Result<void> posted =
      parts_.outgoing.post(channel, {payload, operation, ack_policy, now}, o.max_posted);
  send_cancels();
  return posted;
}

// Something is about to be posted on an idle connection: the peer is checked sooner.
void Connection::watch_peer(Nanos now) {
  if (!parts_.busy() && !handshaking()) parts_.keep_alive.watch(now);
}

Result<void> Connection::post_receive(Nanos now, ChannelId channel, const PostedReceive& receive) {
  if (over()) return fail(ErrorCode::kClosed, "cannot receive", "the connection is closed");
  watch_peer(now);
  parts_.shared.reserve_completions();
  const Shared& shared = parts_.shared;
  AckRules::Grant grant;
  grant.heard = parts_.incoming.heard_of_next(channel);
  Result<void> posted = parts_.incoming.post(channel, receive, parts_.control.records());
  grant.small =
      receive.buffer.length <= shared.options.eager_block_bytes && shared.eager.left() > 0;
  grant.crowded = parts_.incoming.crowded();
  parts_.control.send_by(parts_.acks.grant_at(now, grant));
  return posted;
}

bool Connection::post_cancel(Nanos now, ChannelId channel, Direction direction,
                             OperationId operation) {
  if (direction == Direction::kReceive) {
    const bool cancelled = parts_.incoming.cancel(channel, operation, parts_.control.records());
    parts_.control.send_by(now);
    parts_.payload->flush();
    return cancelled;
  }
  ControlRecord record;
  if (!parts_.outgoing.cancel(channel, operation, record)) return false;
  if (record.type == FrameType::kCancelSend) parts_.control.send(record);
  advance_close(now);
  return true;
}

// Cancels that the messages caused: too long for their receive, or withdrawn before it was posted.
void Connection::send_cancels() {
  ControlRecord record;
  while (parts_.outgoing.poll_truncated(record)) parts_.control.send(record);
}

Result<void> Connection::post_paths(Nanos now, std::span<const uint16_t> paths) {
  if (handshaking() || over()) {
    return fail(ErrorCode::kClosed, "cannot choose paths", "the connection is not open",
                "wait until it is: only then is it known how many paths it has");
  }
  if (!parts_.sender.choose(now, paths)) {
    return fail(ErrorCode::kInvalid, "cannot choose paths",
                "one of them is no path of this connection that carries payload",
                "its path statistics name those that there are");
  }
  parts_.paths_chosen = !paths.empty();
  return {};
}

Result<void> Connection::post_plan(Nanos now, std::span<const PlannedShare> shares) {
  std::vector<uint16_t> paths;
  for (const PlannedShare& each : shares) paths.push_back(each.path);
  Result<void> posted = post_paths(now, paths);
  if (posted) parts_.sender.set_shares(shares);
  return posted;
}

Result<void> Connection::post_discovery(Nanos now) {
  if (state_ != ConnectionState::kOpen) {
    return fail(ErrorCode::kClosed, "cannot discover the routes of the fabric",
                "the connection is not open");
  }
  extensions_.obtain<PathDiscovery>(parts_).request(now);
  return {};
}

bool Connection::routes(FabricRoutes& found) const {
  const auto* discovery = extensions_.find<PathDiscovery>();
  return discovery != nullptr && discovery->found(found);
}

void Connection::post_close(Nanos now) {
  if (close_.requested() || over()) return;
  close_.request(now + parts_.shared.options.close_timeout);
  if (state_ == ConnectionState::kOpen) set_state(now, ConnectionState::kClosing);
  advance_close(now);
}

void Connection::post_abort(Nanos now) { finish(now, aborted_here()); }

// --- the end ---

// Sends the close frame once everything before it is acknowledged.
void Connection::advance_close(Nanos now) {
  if (!close_.frame_due(parts_.outgoing.posted())) return;
  if (handshaking()) {
    finish(now, closed_while_opening());
    return;
  }
  close_.note_frame_sent();
  const auto reason = static_cast<uint8_t>(CloseReason::kGraceful);
  parts_.control.send({FrameType::kClose, reason, 0, 0, 0, 0});
}

// The end, for any cause: every operation ends, and the caller gets a notice. Receives that the
// peer may still change end once the payload strategy is drained.
void Connection::finish(Nanos now, Ending ending) {
  if (over()) return;
  // A peer that has not answered the handshake gets no final frame.
  if (ending.final_frame && peer_wire_id() != 0) {
    close_.queue_final_frames(*ending.final_frame, ending.final_packets);
  }
  close_.end(ending.cause == CloseCause::kGraceful, std::move(ending.error));
  parts_.outgoing.fail_all(close_.error_code());
  parts_.sender.close();
  parts_.share.release();
  extensions_.on_close();
  set_state(now, ConnectionState::kClosed);
  parts_.shared.observer.emit(events::ConnectionClosed{now, id(), ending.cause});
  ++parts_.shared.statistics.connections_closed;
  close_.set_draining(parts_.payload->close());
  if (!close_.draining()) end_receives();
}

void Connection::end_receives() {
  close_.set_draining(false);
  parts_.incoming.fail_all(close_.error_code());
  parts_.shared.notices.push_back(
      {NoticeKind::kClosed, id(), peer(), close_.take_error(), close_.graceful(), peer_id()});
}

bool Connection::handle_reset(Nanos now, const ResetPacket& reset) {
  if (over() || handshaking()) return false;
  if (parts_.keys.active()) return false;  // it proves nothing
  if (!parts_.sender.awaits(reset.path, reset.number)) return false;
  // A peer that has closed already does not know it either: its final close frame was lost.
  finish(now, close_.frame_sent() ? closed_gracefully() : reset_by_peer());
  return true;
}

// --- input ---

void Connection::handle_data(Nanos now, const DataBurst& burst) {
  if (handshaking() || over()) {
    drop(now, DropReason::kClosed);
    return;
  }
  DataReceiver(parts_).handle(now, burst);
}

void Connection::handle_control(Nanos now, const RxRun& run, uint32_t index,
                                std::span<const std::byte> bytes) {
  if (bytes.size() < kConnectionHeaderBytes || handshaking() || over()) {
    const bool whole = bytes.size() >= kConnectionHeaderBytes;
    drop(now, whole ? DropReason::kClosed : DropReason::kBadLength);
    return;
  }
  ControlReceiver receiver(parts_, extensions_);
  ControlReceiver::Packet packet{run, index, bytes};
  ControlReceiver::Verdict verdict;
  if (!receiver.read(now, packet, verdict)) return;
  if (verdict.close) finish(now, closed_by_peer(*verdict.close));
  if (verdict.violation != nullptr) finish(now, protocol_violated(verdict.violation));
  receiver.conclude(now, packet, verdict);
  if (close_.frame_acked()) finish(now, closed_gracefully());
  send_cancels();
  parts_.payload->flush();
  advance_close(now);
}

void Connection::handle_nic_event(Nanos now, const NicEvent& event) {
  parts_.payload->on_event(now, event);
  if (close_.draining() && parts_.payload->drained()) end_receives();
  parts_.payload->flush();
  if (!over()) advance_close(now);
}

void Connection::handle_trimmed(Nanos now, const ConnectionHeader& header) {
  if (handshaking() || over()) {
    drop(now, DropReason::kClosed);
    return;
  }
  const bool numbered = header.type != PacketType::kControl || (header.flags & kFlagNumbered) != 0;
  if (!numbered) return;  // it is not retransmitted
  if (PacketFilter(parts_).is_impossible(now, header, header.number)) return;
  parts_.keep_alive.on_heard(now);
  extensions_.on_truncated_packet(header);
}

void Connection::handle_network_error(Nanos now, const NetworkError& error) {
  if (over() || !(error.local || handshake_.quotes_own_packet(error))) return;
  if (error.kind == NetworkErrorKind::kTooLarge) {
    parts_.sender.on_too_large(now, error.path, error.limit_bytes);
    return;
  }
  extensions_.on_network_error(error);
  if (error.kind != NetworkErrorKind::kRefused) return;
  // An error for another address that the peer advertised is no evidence against the peer: that
  // address may not be its own.
  if (error.to.host != peer().host) return;
  if (key() != nullptr) {  // ICMP is not authenticated
    note_hint("no program listens on that port");
  } else if (handshaking()) {
    finish(now, port_closed());
  } else {
    parts_.keep_alive.on_port_closed(now);
  }
}

PacketKey* Connection::receive_key(const ConnectionHeader& header, DropReason& why) {
  why = DropReason::kClosed;
  if (handshaking() || over()) return nullptr;
  return parts_.keys.receive_key({header, 1, parts_.acks}, why);
}

HeaderTags* Connection::receive_tags(const ConnectionHeader& header, uint32_t segments,
                                     DropReason& why, bool& apart) {
  why = DropReason::kClosed;
  if (handshaking() || over()) return nullptr;
  return parts_.keys.receive_tags({header, segments, parts_.acks}, why, apart);
}

// --- output ---

TurnEnd Connection::transmit(Nanos now, TxBatch& batch, bool others_wait) {
  turn_.begin();
  return turn_.end(fill(now, batch, others_wait));
}

// First one burst of data, then what control packets are due, then more data until the window, the
// pacer, the connection's share or the batch ends it. So a reply is not delayed by its
// acknowledgement, nor the reverse.
TurnEnd Connection::fill(Nanos now, TxBatch& batch, bool others_wait) {
  const auto full = [](bool is) { return is ? TurnEnd::kBatchFull : TurnEnd::kNothingDue; };
  if (handshaking()) return full(handshake_.init_due(now) && !handshake_.send_init(now, batch));
  ControlSender control(parts_, extensions_);
  if (over()) return full(control.send_final_frames(now, batch, close_));
  if (handshake_.accept_due() && !handshake_.send_accept(batch)) return TurnEnd::kBatchFull;
  if (extensions_.transmit(now, batch)) return TurnEnd::kBatchFull;
  // transmit() is called after every event, and mostly nothing is due.
  SendController& sender = parts_.sender;
  if (!parts_.outgoing.has_work() && !control.due(now) && !sender.wants_size_probe()) {
    sender.note_idle();
    return TurnEnd::kNothingDue;
  }
  BurstSender data(parts_, control);
  const auto send_data = [&] {
    const size_t first = batch.bursts().size();
    const SendResult result = data.send(now, batch);
    turn_.spend(batch, first);
    return result;
  };
  SendResult sent = send_data();
  if (sent == SendResult::kFull) return TurnEnd::kBatchFull;
  if (control.send(now, batch) == SendResult::kFull) return TurnEnd::kBatchFull;
  while (sent == SendResult::kSent) {
    if (!turn_.has_share() && others_wait) return TurnEnd::kShareSpent;
    if (!turn_.has_share()) turn_.renew();
    sent = send_data();
  }
  return full(sent == SendResult::kFull);
}

bool Connection::predict(Prediction& prediction) const {
  return predict_arrival(parts_, prediction);
}

// --- time ---

void Connection::handle_handshake_timeout(Nanos now) {
  if (close_.deadline() <= now) {
    finish(now, closed_while_opening());
  } else if (handshake_.timed_out(now)) {
    finish(now, {CloseCause::kHandshakeTimeout, handshake_.timeout_error()});
  }
}

void Connection::handle_timeout(Nanos now) {
  if (over()) return;
  if (handshaking()) return handle_handshake_timeout(now);
  parts_.sender.handle_timeout(now);
  extensions_.handle_timeout(now);
  const KeepAlive::Check check = parts_.keep_alive.handle_timeout(now, parts_.busy());
  if (check.death_cause != nullptr) {
    parts_.shared.observer.step(now, id(), UINT16_MAX, events::RecoveryStep::kPeerDeclaredDead);
    finish(now, peer_died(check.death_cause));
    return;
  }
  if (check.done) {
    parts_.acks.forget_old_gaps(now - AckManager::kGapsKeptFor);
    extensions_.release_memory(now);
  }
  if (close_.deadline() <= now) finish(now, close_timed_out());
}

Nanos Connection::next_timeout() {
  if (over()) return close_.final_frames_left() > 0 ? Nanos{} : Nanos::never();
  if (handshaking()) return std::min(handshake_.next_timeout(), close_.deadline());
  return std::min({parts_.sender.next_timeout(), parts_.keep_alive.next_timeout(),
                   close_.deadline(), parts_.acks.due_at(), parts_.control.due_at(),
                   extensions_.next_timeout()});
}

// --- what it knows ---

const ConnectionStatistics& Connection::statistics() {
  ConnectionStatistics& statistics = parts_.statistics;
  parts_.sender.fill(statistics);
  statistics.segment_bytes -= std::min(statistics.segment_bytes, parts_.keys.tag_bytes());
  if (parts_.keys.active()) statistics.protection = parts_.shared.options.protection;
  statistics.segments_retransmitted_spuriously =
      std::min(feedback_.spurious_retransmits(), statistics.segments_retransmitted);
  statistics.payload_bytes_acked = parts_.outgoing.acked_bytes();
  statistics.payload_bytes_received = parts_.incoming.received_bytes();
  statistics.messages_sent = parts_.outgoing.completed();
  statistics.messages_received = parts_.incoming.completed();
  return statistics;
}

std::vector<PathStatistics> Connection::path_statistics() const {
  std::vector<PathStatistics> paths;
  parts_.sender.fill(paths);
  for (PathStatistics& path : paths) {
    path.segment_bytes -= std::min(path.segment_bytes, parts_.keys.tag_bytes());
    const NicPair pair = parts_.router != nullptr ? parts_.router->pair_of(path.path)
                                                  : NicPair{parts_.identity.nic, 0};
    path.nic = pair.nic;
    path.peer_nic = pair.peer_nic;
  }
  return paths;
}

size_t Connection::bytes_held() const {
  return sizeof(Connection) + parts_.outgoing.bytes_held() + parts_.incoming.bytes_held() +
         parts_.sender.bytes_held() + parts_.acks.bytes_held() + parts_.control.bytes_held() +
         extensions_.bytes_held();
}

}  // namespace heddle::transport
