// Making a connection: init, cookie, accept, and what both sides agree on.
#include <algorithm>
#include <cstring>

#include "transport/congestion/registry.h"
#include "transport/connection/connection.h"

namespace heddle::transport {
namespace {

using events::CloseCause;
using events::ConnectionState;

// An init that got no answer is sent again after so long, then twice as long, up to the longest.
constexpr Nanos kInitAgain = millis(50);
constexpr Nanos kInitAgainLongest = millis(250);
// Inits of a keyed handshake that use one cookie before it is asked for another.
constexpr uint8_t kInitsACookie = 4;
// RFC 6928: ten segments, and here at least a burst, since a burst is what leaves at once.
constexpr uint64_t kInitialSegments = 10;

std::string list(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

HandshakeParameters Connection::own_parameters() const {
  const EndpointOptions& o = shared_.options;
  HandshakeParameters p;
  p.max_paths = o.max_paths;
  p.max_datagram_bytes = o.max_datagram_bytes;
  p.window_bytes = own_window();
  p.max_channels = o.max_channels;
  p.max_posted = o.max_posted;
  p.chunk_paths = o.chunk_paths;
  p.chunk_bytes = o.chunk_bytes;
  p.eager_block_bytes = o.eager_block_bytes;
  if (!shared_.keyed) p.features |= kFeatureTrims;  // a header alone proves nothing
  p.eager_blocks = shared_.eager.left() >= o.eager_blocks ? o.eager_blocks : uint16_t{0};
  if (tells_nics()) {
    p.features |= kFeatureNics;
    p.nics = shared_.told_nics;
  }
  if (shared_.keyed) {
    p.features |= kFeatureSealing;
    p.key.present = true;
    p.key.id = key_->id;
    shared_.secrets.fill(SecretUse::kKeyNonce, p.key.nonce);
    p.key.protection = static_cast<uint8_t>(o.protection);
  }
  return p;
}

Result<void> Connection::begin_connect(Nanos now, const ConnectionOptions& options) {
  options_ = options;
  const EndpointOptions& o = shared_.options;
  if (options_.paths == 0) options_.paths = o.default_paths;
  if (options_.congestion.empty()) options_.congestion = o.congestion;
  if (options_.selector.empty()) options_.selector = o.selector;
  if (!options_.discovery) options_.discovery = o.discovery;
  const ControllerOptions probe{{1500}, {15000}, {1 << 20}};
  if (!make_controller(options_.congestion, probe)) {
    return fail(ErrorCode::kInvalid, "cannot connect",
                "there is no congestion control named '" + options_.congestion + "'",
                "one of: " + list(controller_names()));
  }
  if (!make_selector(options_.selector)) {
    return fail(ErrorCode::kInvalid, "cannot connect",
                "there is no path selector named '" + options_.selector + "'",
                "one of: " + list(selector_names()));
  }
  if (options_.paths > o.max_paths) {
    return fail(ErrorCode::kInvalid, "cannot connect", "more paths than this endpoint has",
                "at most " + std::to_string(o.max_paths));
  }
  initiator_ = true;
  if (shared_.keyed) key_ = shared_.ring.first();
  init_ = std::make_unique<InitPacket>();
  init_->connection = id_;
  init_->wire_id = wire_id_;
  init_->nonce = shared_.secrets.draw(SecretUse::kNonce);
  init_->reply_port = o.reply_port;
  init_->parameters = own_parameters();
  initiator_nonce_ = init_->parameters.key.nonce;
  options_.congestion.copy(init_->parameters.congestion.data(), kMaxNameBytes);
  wish_for_credits();
  began_at_ = init_at_ = now;
  return {};
}

Result<void> Connection::begin_accept(Nanos now, const InitPacket& init, uint8_t nic) {
  nic_ = nic;
  options_.paths = shared_.options.default_paths;
  options_.selector = shared_.options.selector;
  options_.discovery = shared_.options.discovery;
  options_.congestion = init.parameters.congestion.data();
  if (options_.congestion.empty()) options_.congestion = shared_.options.congestion;
  peer_id_ = init.connection;
  peer_wire_id_ = init.wire_id;
  if (shared_.keyed) key_ = shared_.ring.find(init.parameters.key.id);
  accept_ = std::make_unique<AcceptPacket>();
  accept_->reply_port = shared_.options.reply_port;
  accept_->connection = init.connection;
  accept_->accepted_as = id_;
  accept_->wire_id = wire_id_;
  accept_->nonce = init.nonce;
  accept_->parameters = own_parameters();
  const bool credits = agree_on_credits(init.parameters);
  options_.congestion.copy(accept_->parameters.congestion.data(), kMaxNameBytes);
  if (key_) {
    initiator_nonce_ = init.parameters.key.nonce;
    begin_session(init.parameters.key.nonce, accept_->parameters.key.nonce);
  }
  Result<void> opened = open(now, init.parameters, options_.congestion, {});
  if (!opened) return opened;
  if (credits) {
    open_credits(init.parameters.first_credit, accept_->parameters.first_credit);
  }
  repeat_accept(init, peer_, nic);
  shared_.notices.push_back({NoticeKind::kAccepted, id_, peer_, {}, false, peer_id_});
  return {};
}

void Connection::repeat_accept(const InitPacket& init, const Address& from, uint8_t nic) {
  if (pairs_) pairs_->move_home(from, nic);
  accept_->echoed_sent_at = init.sent_at;
  accept_due_ = true;
}

// Both sides know each other's limits now.
Result<void> Connection::open(Nanos now, const HandshakeParameters& peer,
                              std::string_view congestion, Nanos first_rtt) {
  const EndpointOptions& o = shared_.options;
  SendOptions send;
  send.paths = std::min(options_.paths, peer.max_paths);
  send.largest_datagram = std::min({o.max_datagram_bytes, peer.max_datagram_bytes,
                                    static_cast<uint32_t>(TxBatch::kLargestPacket)});
  if (send.largest_datagram < kInitBytes) {
    return fail(ErrorCode::kUnavailable, "cannot open the connection",
                "the peer takes no datagrams of a usable size");
  }
  send.passed_datagram = o.passed_datagram_bytes;
  send.longest_burst =
      static_cast<uint32_t>(std::min<uint64_t>(o.longest_burst.count, kMaxBurstBytes));
  send.peer_window_bytes = peer.window_bytes;
  send.first_rtt = first_rtt;
  const uint64_t segment = send.largest_datagram;
  const uint64_t usual = std::max(kInitialSegments * segment, uint64_t{kMaxBurstBytes});
  const uint64_t initial = o.initial_window.count > 0 ? o.initial_window.count : usual;
  send.controller = make_controller(congestion, {{segment}, {initial}, {o.window_limit.count}});
  send.selector = make_selector(options_.selector);
  if (!send.controller || !send.selector) {
    return fail(ErrorCode::kInvalid, "cannot open the connection",
                "there is no congestion control named '" + std::string(congestion) + "'",
                "one of: " + list(controller_names()));
  }
  for (const std::string_view name : controller_names()) {
    if (name == congestion) statistics_.congestion = name.data();
  }
  acks_.open(o.max_paths);
  open_placed(peer, send);
  sender_.open(now, std::move(send));
  open_nics(now, peer);
  reads_trims_ = (peer.features & kFeatureTrims) != 0;
  incoming_.open(peer.max_posted);
  outgoing_.set_limits({peer.max_channels, peer.max_posted, peer.eager_block_bytes,
                        peer.eager_blocks, chunk_bytes_});
  plan_discovery(now);
  heard_at_ = now;
  keepalive_at_ = now + o.peer_dead_after / 5;
  ping_due_ = initiator_;  // the peer learns that its answer arrived, and a round trip is measured
  ++shared_.statistics.connections_opened;
  set_state(now, close_wanted_ ? ConnectionState::kClosing : ConnectionState::kOpen);
  shared_.observer.emit(events::ConnectionOpened{now, id_, peer_id_, host_part(peer_, 0),
                                                 host_part(peer_, 8), peer_.port, sender_.paths()});
  return {};
}

void Connection::handle_retry(Nanos now, const RetryPacket& retry, uint8_t nic) {
  if (state_ != ConnectionState::kHandshaking || retry.nonce != init_->nonce) return;
  if (init_->has_cookie && init_->cookie == retry.cookie) return;
  init_->has_cookie = true;
  init_->cookie = retry.cookie;
  init_at_ = now;
  nic_ = nic;                                           // the cookie is good for its address
  if (inits_sent_ % kInitsACookie == 0) ++inits_sent_;  // and is not given up unused
}

void Connection::handle_accept(Nanos now, const AcceptPacket& accept, uint8_t nic) {
  if (state_ != ConnectionState::kHandshaking || accept.nonce != init_->nonce) return;
  peer_id_ = accept.accepted_as;
  peer_wire_id_ = accept.wire_id;
  nic_ = nic;
  peer_.port = accept.reply_port;
  if (key_) begin_session(initiator_nonce_, accept.parameters.key.nonce);
  init_at_ = Nanos::never();
  const Nanos rtt = std::max(saturating_difference(now, accept.echoed_sent_at), nanos(1));
  const bool credits =
      (init_->parameters.features & accept.parameters.features & kFeatureCredits) != 0;
  if (!credits) options_.congestion = init_->parameters.congestion.data();
  Result<void> opened = open(now, accept.parameters, options_.congestion, rtt);
  if (opened && credits) {
    open_credits(accept.parameters.first_credit, init_->parameters.first_credit);
  }
  if (!opened) {
    say_last(CloseReason::kAborted);
    finish(now, CloseCause::kRefused, std::move(opened).error());
    return;
  }
  init_.reset();  // all that mattered of it is agreed
  shared_.notices.push_back({NoticeKind::kOpened, id_, peer_, {}, false, peer_id_});
  advance_close(now);
}

void Connection::handle_refusal(Nanos now, ErrorCode code, CloseCause cause, const char* why,
                                const char* todo, uint64_t nonce) {
  if (state_ != ConnectionState::kHandshaking || nonce != init_->nonce) return;
  finish(now, cause, {code, "cannot connect", why, todo});
}

void Connection::check_handshake(Nanos now) {
  if (now - began_at_ < shared_.options.handshake_timeout) return;
  if (hint_ != nullptr) {
    finish(
        now, CloseCause::kHandshakeTimeout,
        {ErrorCode::kTimeout, "cannot connect",
         std::string("nobody proves to hold the cluster key, and an answer without proof says: ") +
             hint_,
         "give both sides the same key_file"});
    return;
  }
  if (key_) {
    finish(now, CloseCause::kHandshakeTimeout,
           {ErrorCode::kTimeout, "cannot connect",
            "nobody at that address proves to hold the cluster key",
            "is heddle listening there with this key in its key_file, and does a firewall let UDP "
            "through?"});
    return;
  }
  finish(now, CloseCause::kHandshakeTimeout,
         {ErrorCode::kTimeout, "cannot connect", "nobody answers at that address",
          "is heddle listening there, without a key_file as here, and does a firewall let UDP "
          "through?"});
}

bool Connection::send_init(Nanos now, TxBatch& batch) {
  if (!batch.has_room(kInitBytes)) return false;
  init_->sent_at = now;
  std::byte* space = batch.header_space();
  // An answer that never comes may be due to the cookie: the peer was restarted since, or the NIC
  // that it is good for is dead.
  const bool may_give_up = key_ || shared_.options.nics.size() > 1;
  if (may_give_up && inits_sent_ > 0 && inits_sent_ % kInitsACookie == 0) init_->has_cookie = false;
  if (!init_->has_cookie) turn_to_nic(inits_sent_);
  size_t mac_at = 0;
  const size_t bytes = write_init(*init_, {space, batch.header_space_bytes()}, mac_at);
  if (key_) sign(*key_, {space, bytes}, mac_at, {});
  // Each on another path, since one of them may be dead.
  const auto path = static_cast<uint16_t>(inits_sent_ % options_.paths);
  batch.add(single(bytes, path, space));
  const Nanos again = kInitAgain * (int64_t{1} << std::min<uint8_t>(inits_sent_, 8));
  init_at_ = now + std::min(again, kInitAgainLongest);
  if (inits_sent_ < UINT8_MAX) ++inits_sent_;
  return true;
}

bool Connection::send_accept(TxBatch& batch) {
  if (!batch.has_room(kInitBytes)) return false;
  std::byte* space = batch.header_space();
  size_t mac_at = 0;
  const size_t bytes = write_accept(*accept_, {space, batch.header_space_bytes()}, mac_at);
  if (key_) sign(*key_, {space, bytes}, mac_at, initiator_nonce_);
  batch.add(single(bytes, sender_.next_control_path(), space));
  accept_due_ = false;
  return true;
}

}  // namespace heddle::transport
