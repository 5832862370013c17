// A connection's requests, its state, its end, and what it hears about its own packets.
#include "transport/connection/connection.h"

#include <algorithm>
#include <utility>

namespace heddle::transport {

using events::CloseCause;
using events::ConnectionState;

namespace {

// Names a transmission among those of the same bytes.
uint64_t name_of(const SentBurst& run, uint16_t path) { return run.first_number << 16 | path; }

}  // namespace

Connection::Connection(Shared& shared, ConnectionId id, WireId wire_id, const Address& peer)
    : shared_(shared),
      id_(id),
      wire_id_(wire_id),
      peer_(peer),
      made_with_port_(peer.port),
      outgoing_(shared.out, shared.repeats, shared.completions, id),
      incoming_(
          shared.in, shared.eager, shared.completions, shared.placements, id,
          {shared.options.max_channels, shared.options.max_posted, shared.options.eager_blocks}),
      sender_(shared.sent, shared.observer, id, *this) {}

void Connection::set_state(Nanos now, ConnectionState state) {
  state_ = state;
  shared_.observer.emit(events::ConnectionChanged{now, id_, state});
}

Result<void> Connection::post_send(Nanos now, ChannelId channel, const Payload& payload,
                                   OperationId operation, AckWish wish) {
  if (close_wanted_ || over()) {
    return fail(ErrorCode::kClosed, "cannot send", "the connection is closed");
  }
  if (channel >= shared_.options.max_channels) {
    return fail(ErrorCode::kInvalid, "cannot send", "no such channel");
  }
  watch(now);
  shared_.reserve_completions();
  Result<void> posted =
      outgoing_.post(channel, payload, operation, shared_.options.max_posted, wish);
  take_truncated();
  return posted;
}

// Something is about to be posted: the peer is asked sooner whether it lives.
void Connection::watch(Nanos now) {
  if (busy() || state_ == ConnectionState::kHandshaking) return;
  keepalive_at_ = std::min(keepalive_at_, now + shared_.options.peer_dead_after / 5);
}

Result<void> Connection::post_receive(Nanos now, ChannelId channel, const Payload& buffer,
                                      OperationId operation, Fill fill) {
  if (over()) return fail(ErrorCode::kClosed, "cannot receive", "the connection is closed");
  watch(now);
  shared_.reserve_completions();
  const bool heard = incoming_.heard_of_next(channel);
  Result<void> posted = incoming_.post(channel, {buffer, operation, fill}, frames_);
  send_frames_by(grant_due(now, buffer, heard));
  return posted;
}

// A grant of a small receive may wait for company: its message needs none to travel, only its
// sender needs one to know that it ended. If that is not here yet, its acknowledgement takes the
// grant along; if it is, perhaps that still waits.
Nanos Connection::grant_due(Nanos now, const Payload& buffer, bool heard) const {
  const bool small = buffer.length <= shared_.options.eager_block_bytes && shared_.eager.left() > 0;
  if (!small) return now;
  if (incoming_.crowded()) return now + AckMaker::kDelay;
  if (!heard) return now + AckMaker::kControlDelay;
  return acks_.pending() ? acks_.due_at() : now + AckMaker::kDelay;
}

bool Connection::post_cancel(Nanos now, ChannelId channel, Direction direction,
                             OperationId operation) {
  if (direction == Direction::kReceive) {
    const bool cancelled = incoming_.cancel(channel, operation, frames_);
    send_frames_by(now);
    take_fences();
    return cancelled;
  }
  ControlRecord record;
  if (!outgoing_.cancel(channel, operation, record)) return false;
  if (record.type == FrameType::kCancelSend) tell(record);
  advance_close(now);
  return true;
}

Result<void> Connection::post_paths(Nanos now, std::span<const uint16_t> paths) {
  if (state_ == ConnectionState::kHandshaking || over()) {
    return fail(ErrorCode::kClosed, "cannot choose paths", "the connection is not open",
                "wait until it is: only then is it known how many paths it has");
  }
  if (!sender_.choose(now, paths)) {
    return fail(ErrorCode::kInvalid, "cannot choose paths",
                "one of them is no path of this connection that carries payload",
                "its path statistics name those that there are");
  }
  fixed_ = !paths.empty();
  return {};
}

void Connection::post_close(Nanos now) {
  if (close_wanted_ || over()) return;
  close_wanted_ = true;
  close_by_ = now + shared_.options.close_timeout;
  if (state_ == ConnectionState::kOpen) set_state(now, ConnectionState::kClosing);
  advance_close(now);
}

// Sends the close once everything before it is acknowledged.
void Connection::advance_close(Nanos now) {
  if (!close_wanted_ || close_sent_ || outgoing_.posted() > 0) return;
  if (state_ == ConnectionState::kHandshaking) {
    finish(now, CloseCause::kAborted, {ErrorCode::kClosed, "connection closed", "", ""});
    return;
  }
  close_sent_ = true;
  tell({FrameType::kClose, static_cast<uint8_t>(CloseReason::kGraceful), 0, 0, 0, 0});
}

void Connection::post_abort(Nanos now) {
  if (over()) return;
  say_last(CloseReason::kAborted);
  finish(now, CloseCause::kAborted, {ErrorCode::kClosed, "connection closed", "aborted here", ""});
}

// What the peer is told, in so many packets, once this side is over. A lost one is not repeated:
// then the peer learns it from a reset when it next speaks.
void Connection::say_last(CloseReason reason, uint8_t times) {
  if (peer_wire_id_ == 0) return;
  last_words_ = reason;
  last_words_left_ = times;
}

// The end, whatever the cause: every operation ends, and the caller is told. Receives that a peer's
// NIC may still write to end once that cannot happen any more.
void Connection::finish(Nanos now, CloseCause cause, Error error) {
  if (over()) return;
  end_graceful_ = cause == CloseCause::kGraceful;
  end_error_ = std::move(error);
  outgoing_.fail_all(end_error_.code);
  sender_.close();
  discovering_.reset();
  if (receiving_) --shared_.receiving;
  receiving_ = false;
  shared_.credits.leave(account_);
  set_state(now, ConnectionState::kClosed);
  shared_.observer.emit(events::ConnectionClosed{now, id_, cause});
  ++shared_.statistics.connections_closed;
  fencing_ = incoming_.may_be_written();
  if (chunk_bytes_ != 0) shared_.fences.push_back({id_, FenceRequest::kEveryPath, 0});
  if (!fencing_) end_receives();
}

void Connection::end_receives() {
  fencing_ = false;
  incoming_.fail_all(end_error_.code);
  shared_.notices.push_back(
      {NoticeKind::kClosed, id_, peer_, std::move(end_error_), end_graceful_, peer_id_});
}

void Connection::heard(Nanos now) {
  heard_at_ = now;
  refused_since_ = Nanos::never();
  sender_.peer_was_heard();
}

// The peer broke the protocol: the caller gets `what` it did as the cause, and the peer a close
// frame with the reason "protocol error".
void Connection::end_by_protocol_error(Nanos now, const char* what) {
  say_last(CloseReason::kProtocolError);
  finish(now, CloseCause::kProtocolError,
         {ErrorCode::kClosed, "connection ended by a protocol error", what,
          "run the same version of heddle on both sides; if it is, report this"});
}

// What the peer may have in flight towards this side: the endpoint's capacity, shared by those who
// send. Credits hold all of them together below it.
uint64_t Connection::own_window() const {
  if (account_.connection != 0) return shared_.options.receive_capacity.count;
  const uint64_t others = shared_.receiving - (receiving_ ? 1u : 0u);
  const uint64_t least = 2 * (SendController::kBaseDatagram + SendController::kReceiveOverhead);
  return std::max(least, shared_.options.receive_capacity.count / (others + 1));
}

void Connection::on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) {
  if (session_ && run.sent_at > epoch_began_at_) session_->prove();
  if (run.hop_limit != 0 && discovering_) discovering_->discovery.on_arrived(run.hop_limit);
  if (run.data && was_lost) count_needless(run, first, count);
  if (run.data) credit_.on_acked(cost_of(run, first, count), was_lost);
  if (run.data) {
    outgoing_.on_acked(run.row, run.start_of(first), run.end_of(first, count));
  }
  if (!was_lost) answers_under_way_ -= answers_in(run);
  for (uint8_t i = 0; i < run.control_count; ++i) {
    const ControlRecord& record = run.control[i];
    if (record.type == FrameType::kClose) close_acked_ = true;  // see handle_control()
    if (record.type == FrameType::kCancelReceive) {
      incoming_.forget_withdrawn(record.channel, record.sequence);
    }
  }
}

// What was given up has arrived. Where its repeat has not left yet, none will.
void Connection::count_needless(const SentBurst& run, uint32_t first, uint32_t count) {
  const uint64_t sent_as = name_of(run, sender_.current_path());
  const auto again = [&](uint32_t from, uint32_t segments) {
    return outgoing_.sent_again(run.row, run.start_of(from), run.end_of(from, segments), sent_as);
  };
  if (again(first, count) == 0) return;
  for (uint32_t i = first; i < first + count; ++i) needless_repeats_ += again(i, 1) > 0 ? 1 : 0;
}

void Connection::on_lost(const SentBurst& run, uint32_t first, uint32_t count, events::LossCause) {
  if (run.data) {
    credit_.on_lost(cost_of(run, first, count));
    outgoing_.on_lost(run.row, run.start_of(first), run.end_of(first, count),
                      name_of(run, sender_.current_path()));
  }
  answers_under_way_ -= answers_in(run);
  for (uint8_t i = 0; i < run.control_count; ++i) {
    const ControlRecord& record = run.control[i];
    const bool grant = record.type == FrameType::kGrant;
    shared_.observer.step(
        run.sent_at, id_, sender_.current_path(),
        grant ? events::RecoveryStep::kGrantRepeat : events::RecoveryStep::kControlRepeat);
    tell(record);
  }
}

// A frame that the peer must get soon.
void Connection::tell(const ControlRecord& record) {
  frames_.push_back(record);
  frames_due_at_ = {};
}

// Frames that wait, if any, leave at this time at the latest.
void Connection::send_frames_by(Nanos at) {
  if (!frames_.empty()) frames_due_at_ = std::min(frames_due_at_, at);
}

void Connection::settle_receiving(Nanos horizon) {
  if (!receiving_ || payload_at_ >= horizon) return;
  receiving_ = false;
  --shared_.receiving;
  if (trimmed_.empty()) std::vector<TrimFrame>().swap(trimmed_);
}

const ConnectionStatistics& Connection::statistics() {
  sender_.fill(statistics_);
  statistics_.segment_bytes -= std::min(statistics_.segment_bytes, tag_bytes());
  if (session_) statistics_.protection = shared_.options.protection;
  statistics_.segments_repeated_spuriously =
      std::min(needless_repeats_, statistics_.segments_repeated);
  statistics_.payload_bytes_acked = outgoing_.acked_bytes();
  statistics_.payload_bytes_received = incoming_.received_bytes();
  statistics_.messages_sent = outgoing_.completed();
  statistics_.messages_received = incoming_.completed();
  return statistics_;
}

std::vector<PathStatistics> Connection::path_statistics() const {
  std::vector<PathStatistics> paths;
  sender_.fill(paths);
  for (PathStatistics& path : paths) {
    path.segment_bytes -= std::min(path.segment_bytes, tag_bytes());
    const NicPair pair = pairs_ ? pairs_->pair_of(path.path) : NicPair{nic_, 0};
    path.nic = pair.nic;
    path.peer_nic = pair.peer_nic;
  }
  return paths;
}

size_t Connection::bytes_held() const {
  return sizeof(Connection) + outgoing_.bytes_held() + incoming_.bytes_held() +
         (discovering_ ? discovering_->discovery.bytes_held() : 0) + sender_.bytes_held() +
         (pairs_ ? pairs_->bytes_held() : 0) + acks_.bytes_held() + chunk_acks_.bytes_held() +
         frames_.capacity() * sizeof(ControlRecord) + trimmed_.capacity() * sizeof(TrimFrame);
}

}  // namespace heddle::transport
