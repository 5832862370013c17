// What each side offers, the packets, and how often they are sent.
#include "transport/connection/handshake.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/congestion/registry.h"
#include "transport/connection/packet_writer.h"
#include "transport/connection/params.h"

namespace heddle::transport {
namespace {

using namespace params::handshake;

std::string list(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

// Leading bits that two hosts' addresses have in common.
uint32_t common_bits(const Address& one, const Address& other) {
  for (uint32_t bit = 0; bit < 8 * kHostBytes; ++bit) {
    const uint32_t mask = 0x80u >> (bit % 8);
    if (((one.host[bit / 8] ^ other.host[bit / 8]) & mask) != 0) return bit;
  }
  return 8 * kHostBytes;
}

}  // namespace

HandshakeParameters Handshake::own_parameters() const {
  const Shared& shared = parts_.shared;
  const EndpointOptions& o = shared.options;
  HandshakeParameters p;
  p.max_paths = o.max_paths;
  p.max_datagram_bytes = o.max_datagram_bytes;
  p.window_bytes = parts_.own_window();
  p.max_channels = o.max_channels;
  p.max_posted = o.max_posted;
  p.eager_block_bytes = o.eager_block_bytes;
  p.eager_blocks = shared.eager.left() >= o.eager_blocks ? o.eager_blocks : uint16_t{0};
  if (shared.keyed) {
    p.features |= kFeatureEncryption;
    p.key.present = true;
    p.key.id = parts_.keys.cluster_key()->id;
    parts_.shared.secrets.fill(SecretUse::kKeyNonce, p.key.nonce);
    p.key.protection = static_cast<uint8_t>(o.protection);
  }
  return p;
}

Result<void> Handshake::begin_connect(Nanos now, const ConnectionOptions& options) {
  options_ = options;
  Shared& shared = parts_.shared;
  const EndpointOptions& o = shared.options;
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
  parts_.identity.initiator = true;
  if (shared.keyed) parts_.keys.set_cluster_key(shared.ring.first());
  init_ = std::make_unique<InitPacket>();
  init_->connection = parts_.identity.id;
  init_->wire_id = parts_.identity.wire_id;
  init_->nonce = shared.secrets.draw(SecretUse::kNonce);
  init_->reply_port = o.reply_port;
  init_->parameters = own_parameters();
  parts_.keys.set_initiator_nonce(init_->parameters.key.nonce);
  std::string congestion = options_.congestion;
  extensions_.propose(nullptr, init_->parameters, congestion);
  congestion.copy(init_->parameters.congestion.data(), kMaxNameBytes);
  began_at_ = init_at_ = now;
  return {};
}

void Handshake::begin_accept(const InitPacket& init, uint8_t nic) {
  const EndpointOptions& o = parts_.shared.options;
  ConnectionIdentity& identity = parts_.identity;
  identity.nic = nic;
  identity.peer_id = init.connection;
  identity.peer_wire_id = init.wire_id;
  options_.paths = o.default_paths;
  options_.selector = o.selector;
  options_.discovery = o.discovery;
  options_.congestion = init.parameters.congestion.data();
  if (options_.congestion.empty()) options_.congestion = o.congestion;
  const KeyParameters& key = init.parameters.key;
  if (parts_.shared.keyed) parts_.keys.set_cluster_key(parts_.shared.ring.find(key.id));
  accept_ = std::make_unique<AcceptPacket>();
  accept_->reply_port = o.reply_port;
  accept_->connection = init.connection;
  accept_->accepted_as = identity.id;
  accept_->wire_id = identity.wire_id;
  accept_->nonce = init.nonce;
  accept_->parameters = own_parameters();
  extensions_.propose(&init.parameters, accept_->parameters, options_.congestion);
  options_.congestion.copy(accept_->parameters.congestion.data(), kMaxNameBytes);
  parts_.keys.set_initiator_nonce(key.nonce);
  parts_.keys.begin_session(accept_->parameters.key.nonce);
}

void Handshake::send_accept_for(const InitPacket& init) {
  accept_->echoed_sent_at = init.sent_at;
  accept_due_ = true;
}

bool Handshake::made_by(const InitPacket& init) const {
  return accept_ && parts_.identity.peer_id == init.connection && accept_->nonce == init.nonce;
}

void Handshake::on_retry(Nanos now, const RetryPacket& retry, uint8_t nic) {
  if (init_->has_cookie && init_->cookie == retry.cookie) return;
  init_->has_cookie = true;
  init_->cookie = retry.cookie;
  init_at_ = now;
  parts_.identity.nic = nic;                            // the cookie is valid for its address
  if (inits_sent_ % kInitsACookie == 0) ++inits_sent_;  // and is used at least once
}

void Handshake::on_accept(const AcceptPacket& accept, uint8_t nic) {
  ConnectionIdentity& identity = parts_.identity;
  identity.peer_id = accept.accepted_as;
  identity.peer_wire_id = accept.wire_id;
  identity.nic = nic;
  identity.peer.port = accept.reply_port;
  parts_.keys.begin_session(accept.parameters.key.nonce);
  init_at_ = Nanos::never();
  options_.congestion = init_->parameters.congestion.data();
  extensions_.settle(init_->parameters, accept.parameters, options_.congestion);
}

Agreement Handshake::agreement_with(const HandshakeParameters& peer) const {
  return {init_ ? init_->parameters : accept_->parameters, peer, options_};
}

Result<OpenPlan> Handshake::plan(const HandshakeParameters& peer, Nanos first_rtt) {
  const EndpointOptions& o = parts_.shared.options;
  OpenPlan plan;
  SendOptions& send = plan.send;
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
  send.controller =
      make_controller(options_.congestion, {{segment}, {initial}, {o.window_limit.count}});
  send.selector = make_selector(options_.selector);
  if (!send.controller || !send.selector) {
    return fail(ErrorCode::kInvalid, "cannot open the connection",
                "there is no congestion control named '" + options_.congestion + "'",
                "one of: " + list(controller_names()));
  }
  plan.peer_limits = {peer.max_channels, peer.max_posted, peer.eager_block_bytes,
                      peer.eager_blocks};
  extensions_.prepare(peer, plan);
  return plan;
}

bool Handshake::timed_out(Nanos now) const {
  return now - began_at_ >= parts_.shared.options.handshake_timeout;
}

Error Handshake::timeout_error() const {
  Error error{ErrorCode::kTimeout, "cannot connect", {}, {}};
  if (hint_ != nullptr) {
    error.why =
        std::string("no one proves to hold the cluster key, and an answer without proof says: ") +
        hint_;
    error.todo = "give both sides the same key_file";
  } else if (parts_.keys.cluster_key() != nullptr) {
    error.why = "no host at that address proves to hold the cluster key";
    error.todo =
        "is heddle listening there with this key in its key_file, and does a firewall let UDP "
        "through?";
  } else {
    error.why = "no host answers at that address";
    error.todo =
        "is heddle listening there, without a key_file as here, and does a firewall let UDP "
        "through?";
  }
  return error;
}

bool Handshake::quotes_own_packet(const NetworkError& error) const {
  const std::span<const std::byte> quoted(error.quoted.data(), error.quoted_bytes);
  if (quoted.size() < NetworkError::kMostQuoted) return false;
  const ConnectionIdentity& identity = parts_.identity;
  const PacketType type = type_of(quoted[0]);
  if (type == PacketType::kInit || type == PacketType::kAccept) {
    Reader reader(quoted.subspan(kHandshakeIdAt));
    const uint32_t connection = reader.get<uint32_t>();
    const uint64_t nonce = reader.get<uint64_t>();
    if (init_) return connection == identity.id && nonce == init_->nonce;
    return accept_ && connection == identity.peer_id && nonce == accept_->nonce;
  }
  std::array<std::byte, kConnectionHeaderBytes> header{};  // longer than what is quoted
  std::copy(quoted.begin(), quoted.end(), header.begin());
  return identity.peer_wire_id != 0 &&
         read_connection_header(header.data()).connection == identity.peer_wire_id;
}

// The NIC that the next init leaves from: first the one whose address is nearest to the peer's,
// then the others in turn. Those of another address family are left out.
void Handshake::choose_nic(uint32_t number) {
  const std::vector<Address>& nics = parts_.shared.options.nics;
  const Address& peer = parts_.identity.peer;
  uint8_t& nic = parts_.identity.nic;
  if (nics.size() <= 1) return;
  uint32_t nearest = 0;
  uint32_t usable = 0;
  int64_t most = -1;
  for (uint32_t i = 0; i < nics.size(); ++i) {
    if (!same_family(nics[i], peer)) continue;
    ++usable;
    const auto bits = static_cast<int64_t>(common_bits(nics[i], peer));
    if (bits > most) nearest = i;
    most = std::max(most, bits);
  }
  if (usable == 0) return;  // the datapath reports why
  nic = static_cast<uint8_t>(nearest);
  for (uint32_t steps = number % usable; steps > 0; --steps) {
    do {
      nic = static_cast<uint8_t>((nic + 1u) % nics.size());
    } while (!same_family(nics[nic], peer));
  }
}

bool Handshake::send_init(Nanos now, TxBatch& batch) {
  if (!batch.has_room(kInitBytes)) return false;
  init_->sent_at = now;
  const RingKey* key = parts_.keys.cluster_key();
  // An answer that never comes may be due to the cookie: the peer was restarted since, or the NIC
  // that it is valid for is dead.
  const bool may_drop_cookie = key != nullptr || parts_.shared.options.nics.size() > 1;
  if (may_drop_cookie && inits_sent_ > 0 && inits_sent_ % kInitsACookie == 0) {
    init_->has_cookie = false;
  }
  if (!init_->has_cookie) choose_nic(inits_sent_);
  add_init(batch);
  if (inits_sent_ >= kInitsAlone && options_.paths > 1 && batch.has_room(kInitBytes)) {
    add_init(batch);
  }
  const Nanos timeout = kInitTimeout * (int64_t{1} << std::min<uint8_t>(inits_sent_, 8));
  init_at_ = now + std::min(timeout, kLongestInitTimeout);
  if (inits_sent_ < UINT8_MAX) ++inits_sent_;
  return true;
}

// Each on another path, since one of them may be dead.
void Handshake::add_init(TxBatch& batch) {
  std::byte* space = batch.header_space();
  const RingKey* key = parts_.keys.cluster_key();
  size_t mac_at = 0;
  const size_t bytes = write_init(*init_, {space, batch.header_space_bytes()}, mac_at);
  if (key != nullptr) sign(*key, {space, bytes}, mac_at, {});
  batch.add(single_packet(parts_, bytes, next_path_, space));
  next_path_ = static_cast<uint16_t>((next_path_ + 1) % options_.paths);
}

bool Handshake::send_accept(TxBatch& batch) {
  if (!batch.has_room(kInitBytes)) return false;
  std::byte* space = batch.header_space();
  const RingKey* key = parts_.keys.cluster_key();
  size_t mac_at = 0;
  const size_t bytes = write_accept(*accept_, {space, batch.header_space_bytes()}, mac_at);
  if (key != nullptr) sign(*key, {space, bytes}, mac_at, parts_.keys.initiator_nonce());
  batch.add(single_packet(parts_, bytes, parts_.sender.next_control_path(), space));
  accept_due_ = false;
  return true;
}

Nanos Handshake::next_timeout() const {
  return std::min(init_at_, began_at_ + parts_.shared.options.handshake_timeout);
}

}  // namespace heddle::transport
