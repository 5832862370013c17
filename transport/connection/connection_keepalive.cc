// Is the peer alive? Probes while it is silent, its death when they go unanswered, what ICMP adds.
#include <algorithm>
#include <array>
#include <string>

#include "transport/connection/connection.h"

namespace heddle::transport {
namespace {

using events::CloseCause;
using events::ConnectionState;
using events::RecoveryStep;

// A connection with nothing posted is asked this much less often.
constexpr int64_t kIdleFactor = 10;
// After so long without a packet that counts, what was lost before need not be known any more: an
// idle connection keeps no memory of it. Longer than anything is late and still worth having.
constexpr Nanos kGapsKeptFor = millis(500);
// ICMP "nobody listens" for so long, and nothing heard: believed.
constexpr Nanos kRefusedFor = millis(200);
// A peer that was taken for dead is told so in as many packets: it may still hear, and would else
// find out only when its own probes go unanswered.
constexpr uint8_t kLastWords = 8;

}  // namespace

void Connection::check_peer(Nanos now) {
  const Nanos dead_after = shared_.options.peer_dead_after;
  const Nanos unanswered = sender_.first_unanswered();
  if (unanswered != Nanos::never() && now - unanswered >= dead_after) {
    declare_dead(now, "it stopped answering");
    return;
  }
  if (refused_since_ != Nanos::never() && now - refused_since_ >= kRefusedFor) {
    declare_dead(now, "its host says that nobody listens there any more");
    return;
  }
  acks_.forget_old_gaps(now - kGapsKeptFor);
  chunk_acks_.forget_old_gaps(now - kGapsKeptFor);
  const bool watched = busy() || unanswered != Nanos::never();
  const Nanos period = watched ? dead_after / 5 : dead_after / 5 * kIdleFactor;
  const Nanos silent_since = std::max(heard_at_, Nanos{});
  if (now >= silent_since + period && now >= keepalive_at_) {
    ping_due_ = true;
    sender_.note_probe(now);
    shared_.observer.step(now, id_, UINT16_MAX, RecoveryStep::kPeerProbe);
    keepalive_at_ = now + std::min(period, dead_after / 5);
  } else {
    keepalive_at_ = std::max(silent_since + period, now + millis(1));
  }
}

void Connection::declare_dead(Nanos now, const char* why) {
  shared_.observer.step(now, id_, UINT16_MAX, RecoveryStep::kPeerDeclaredDead);
  say_last(CloseReason::kUnheard, kLastWords);
  finish(now, CloseCause::kPeerDead,
         {ErrorCode::kPeerDead, "the peer is gone", why, "look at its process and its host"});
}

// Whether an error from the network is of a packet of this connection. Nobody who has not seen one
// knows what it begins with: the peer's id of the connection, or the nonce of the handshake.
bool Connection::quotes_own_packet(const NetworkError& error) const {
  const std::span<const std::byte> quoted(error.quoted.data(), error.quoted_bytes);
  if (quoted.size() < NetworkError::kMostQuoted) return false;
  const PacketType type = type_of(quoted[0]);
  if (type == PacketType::kInit || type == PacketType::kAccept) {
    Reader reader(quoted.subspan(kHandshakeIdAt));
    const uint32_t connection = reader.get<uint32_t>();
    const uint64_t nonce = reader.get<uint64_t>();
    if (init_) return connection == id_ && nonce == init_->nonce;
    return accept_ && connection == peer_id_ && nonce == accept_->nonce;
  }
  std::array<std::byte, kConnectionHeaderBytes> header{};
  std::copy(quoted.begin(), quoted.end(), header.begin());
  return peer_wire_id_ != 0 && read_connection_header(header.data()).connection == peer_wire_id_;
}

void Connection::handle_network_error(Nanos now, const NetworkError& error) {
  if (over() || !(error.local || quotes_own_packet(error))) return;
  if (error.kind == NetworkErrorKind::kTooLarge) {
    sender_.on_too_large(now, error.path, error.limit_bytes);
    return;
  }
  if (error.kind == NetworkErrorKind::kTimeExceeded) handle_time_exceeded(error);
  if (error.kind != NetworkErrorKind::kRefused) return;
  // What another of its addresses is not, tells nothing of the peer: perhaps it is not even its.
  if (error.to.host != peer_.host) return;
  if (key_) {  // anybody may send ICMP
    note_hint("nobody listens on that port");
    return;
  }
  if (state_ == ConnectionState::kHandshaking) {
    finish(now, CloseCause::kRefused,
           {ErrorCode::kUnavailable, "cannot connect", "nobody listens on that port",
            "start the other side first, or name its port"});
    return;
  }
  // A hint only, since anybody may send it: the peer is asked, and believed dead if it stays
  // silent.
  if (refused_since_ == Nanos::never()) {
    refused_since_ = now;
    ping_due_ = true;
    sender_.note_probe(now);
  }
  keepalive_at_ = std::min(keepalive_at_, refused_since_ + kRefusedFor);
}

void Connection::handle_timeout(Nanos now) {
  if (over()) return;
  if (state_ == ConnectionState::kHandshaking) {
    if (close_by_ <= now) {
      finish(now, CloseCause::kAborted, {ErrorCode::kClosed, "connection closed", "", ""});
      return;
    }
    check_handshake(now);
    return;
  }
  sender_.handle_timeout(now);
  if (fence_at_ <= now) {
    fence_at_ = Nanos::never();
    incoming_.request_fences(false);
    take_fences();
  }
  const Nanos unanswered = sender_.first_unanswered();
  const bool dead_due =
      unanswered != Nanos::never() && now - unanswered >= shared_.options.peer_dead_after;
  if (unanswered != Nanos::never()) {
    keepalive_at_ = std::min(keepalive_at_, now + shared_.options.peer_dead_after / 5);
  }
  const bool refused_due = refused_since_ != Nanos::never() && now - refused_since_ >= kRefusedFor;
  if (keepalive_at_ <= now || dead_due || refused_due) check_peer(now);
  if (over() || close_by_ > now) return;
  say_last(CloseReason::kAborted);
  finish(now, CloseCause::kAborted,
         {ErrorCode::kTimeout, "connection closed", "the peer did not take everything in time",
          "post its receives before closing"});
}

Nanos Connection::next_timeout() const {
  if (over()) return last_words_left_ > 0 ? Nanos{} : Nanos::never();
  if (state_ == ConnectionState::kHandshaking) {
    return std::min({init_at_, began_at_ + shared_.options.handshake_timeout, close_by_});
  }
  Nanos next =
      std::min({sender_.next_timeout(), keepalive_at_, close_by_, acks_.due_at(),
                chunk_acks_.due_at(), fence_at_, frames_due_at_, demand_at_, discover_at_});
  if (pairs_) next = std::min(next, pairs_->next_timeout());
  if (discovering_ && !discovering_->told) {
    next = std::min(next, discovering_->discovery.next_timeout());
  }
  const Nanos unanswered = sender_.first_unanswered();
  if (unanswered != Nanos::never())
    next = std::min(next, unanswered + shared_.options.peer_dead_after);
  return next;
}

}  // namespace heddle::transport
