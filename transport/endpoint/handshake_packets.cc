// Packets that belong to no connection: inits, the answers to ours, resets. An unknown peer can
// make this side store a few replies, and send less than it received.
#include <algorithm>
#include <cstring>

#include "transport/endpoint/body.h"
#include "transport/stranger_budget.h"

namespace heddle::transport {

using events::CloseCause;
using events::DropReason;

namespace {

// What identifies an init to ReplayMemory. Without keys: the nonce and the id that the initiator
// drew, so that no other handshake counts as a repetition of it.
KeyNonce replay_nonce(const InitPacket& init) {
  if (init.parameters.key.present) return init.parameters.key.nonce;
  KeyNonce nonce{};
  std::memcpy(nonce.data(), &init.nonce, sizeof(init.nonce));
  std::memcpy(nonce.data() + sizeof(init.nonce), &init.connection, sizeof(init.connection));
  return nonce;
}

}  // namespace

Endpoint::Body::Reply* Endpoint::Body::new_reply(const Asker& to) {
  if (replies_.size() >= kMaxReplies) return nullptr;
  Reply& reply = replies_.push_back({});
  reply.to = to.peer;
  reply.nic = to.nic;
  return &reply;
}

void Endpoint::Body::refuse(Nanos now, const Asker& asker, const InitPacket& init,
                            RefuseReason reason) {
  drop(now, DropReason::kClosed);
  Reply* reply = new_reply(asker);
  if (reply == nullptr) return;
  const RefusePacket packet{init.connection, init.nonce, reason, shared.keyed};
  reply->length = static_cast<uint8_t>(write_refuse(packet, reply->bytes));
  if (!shared.keyed) return;
  const KeyParameters& key = init.parameters.key;
  sign(*shared.ring.find(key.id), reply->packet(), kRefuseMacAt, key.nonce);
}

void Endpoint::Body::retry(Nanos now, const Asker& asker, const InitPacket& init) {
  Reply* reply = new_reply(asker);
  if (reply == nullptr) return;
  const RetryPacket packet{init.connection, init.nonce, cookies_.make(now, asker.peer, init),
                           shared.keyed};
  reply->length = static_cast<uint8_t>(write_retry(packet, reply->bytes));
  if (!shared.keyed) return;
  const KeyParameters& key = init.parameters.key;
  sign(*shared.ring.find(key.id), reply->packet(), kRetryMacAt, key.nonce);
}

void Endpoint::Body::handle_init(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  InitPacket init;
  const bool foreign = version_of(packet[0]) != kWireVersion;
  const bool readable = read_init(packet, init);
  if (packet.size() < kInitBytes) {
    drop(now, DropReason::kBadLength);
    return;
  }
  Asker asker{run.from, run.nic};
  asker.peer.port = init.reply_port;
  if (foreign) {
    // Its id, nonce and port stand where ours do in every version.
    drop(now, DropReason::kBadVersion);
    if (shared.keyed) return;
    Reply* reply = init.reply_port == 0 ? nullptr : new_reply(asker);
    if (reply != nullptr) {
      reply->length =
          static_cast<uint8_t>(write_version({init.connection, init.nonce}, reply->bytes));
    }
    return;
  }
  if (!readable) {
    drop(now, DropReason::kBadField);
    return;
  }
  if (shared.keyed && !may_ask(now, init, packet)) return;
  if (!shared.options.accept) {
    refuse(now, asker, init, RefuseReason::kNotAccepting);
    return;
  }
  if (init.parameters.key.present && !shared.keyed) {
    refuse(now, asker, init, RefuseReason::kNoKeys);
    return;
  }
  if (shared.keyed &&
      init.parameters.key.protection != static_cast<uint8_t>(shared.options.protection)) {
    const bool full = shared.options.protection == Protection::kFull;
    refuse(now, asker, init, full ? RefuseReason::kDemandsFull : RefuseReason::kDemandsHeaders);
    return;
  }
  if (init.has_cookie && cookies_.good(now, asker.peer, init)) {
    accept(now, asker, init);
    return;
  }
  if (init.has_cookie) drop(now, DropReason::kBadCookie);
  // With keys an old cookie is an old packet; a peer that means it will ask for a new one.
  if (init.has_cookie && shared.keyed) return;
  if (shared.keyed && accepted_.knows(init.parameters.key.nonce)) {
    // A recorded init, unless the initiator still waits: where several accepts were lost, it
    // requests another cookie.
    const Connection* made = find_made_by(asker.peer, init);
    if (made == nullptr || made->confirmed()) {
      drop(now, DropReason::kReplayed);
      return;
    }
  }
  retry(now, asker, init);
}

// The connection that this init made before, perhaps from another NIC of the same host.
Connection* Endpoint::Body::find_made_by(const Address& peer, const InitPacket& init) {
  Connection* found = table.find_accepted(peer, init.connection);
  if (found != nullptr || init.parameters.nics.empty()) return found;
  table.for_each([&](Connection& connection) {
    if (connection.made_by(init) && connection.is_peer(peer)) found = &connection;
  });
  return found;
}

void Endpoint::Body::accept(Nanos now, const Asker& asker, const InitPacket& init) {
  if (Connection* known = find_made_by(asker.peer, init); known != nullptr) {
    if (known->confirmed()) {  // so it has the answer
      drop(now, DropReason::kReplayed);
      return;
    }
    known->repeat_accept(init, asker.peer, asker.nic);
    table.touch(*known);
    return;
  }
  // It made a connection that has ended: a delayed or repeated init, or a recorded one.
  if (accepted_.knows(replay_nonce(init))) {
    drop(now, DropReason::kReplayed);
    if (!shared.keyed) refuse(now, asker, init, RefuseReason::kEnded);
    return;
  }
  const uint32_t charge = stranger_charge(shared.options, init.parameters.max_posted);
  const bool room = admits_stranger(shared.options, shared.keyed, shared.budget->charged(), charge);
  Connection* connection = room ? table.add(asker.peer) : nullptr;
  if (connection == nullptr) {
    refuse(now, asker, init, RefuseReason::kFull);
    return;
  }
  if (const Result<void> begun = connection->begin_accept(now, init, asker.nic); !begun) {
    table.remove(*connection);
    const bool sizes = begun.error().code == ErrorCode::kUnavailable;
    refuse(now, asker, init,
           sizes ? RefuseReason::kDatagramsTooSmall : RefuseReason::kCongestionUnknown);
    return;
  }
  // Not of an init that was refused: it comes again, and is to be answered again.
  if (!shared.keyed) {
    accepted_.remember_latest(now, replay_nonce(init));
  } else if (!accepted_.remember(now, replay_nonce(init))) {
    table.remove(*connection);
    refuse(now, asker, init, RefuseReason::kFull);
    return;
  }
  table.note_peers_name(*connection);
  table.note_accepted(asker.peer, init.connection, {connection->id(), charge});
  table.touch(*connection);
}

// An answer to an init of ours. Its nonce proves that its sender received the init.
void Endpoint::Body::handle_answer(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  RetryPacket retry;
  AcceptPacket accepted;
  RefusePacket refused;
  const PacketType type = type_of(packet[0]);
  uint32_t id = 0;
  std::copy_n(packet.begin() + kHandshakeIdAt, sizeof(id), reinterpret_cast<std::byte*>(&id));
  Connection* connection = table.find(id);
  if (connection == nullptr || connection->peer().host != run.from.host) {
    drop(now, DropReason::kUnknownConnection);
    return;
  }
  if (!may_answer(now, *connection, packet)) return;
  if (type == PacketType::kRetry && read_retry(packet, retry)) {
    connection->handle_retry(now, retry, run.nic);
  } else if (type == PacketType::kAccept && read_accept(packet, accepted)) {
    connection->handle_accept(now, accepted, run.nic);
    table.note_peers_name(*connection);
  } else if (type == PacketType::kRefuse && read_refuse(packet, refused)) {
    connection->handle_refusal(now,
                               {ErrorCode::kUnavailable, CloseCause::kRefused,
                                text_of(refused.reason), "look at the other side's settings"},
                               refused.nonce);
  } else if (type == PacketType::kVersion) {
    handle_version(now, *connection, packet);
  } else {
    drop(now, DropReason::kBadField);
    return;
  }
  table.touch(*connection);
}

void Endpoint::Body::handle_version(Nanos now, Connection& connection,
                                    std::span<const std::byte> packet) {
  VersionPacket version;
  if (!read_version(packet, version)) {
    drop(now, DropReason::kBadField);
    return;
  }
  const bool older = version.highest < kWireVersion;
  const bool newer = version.lowest > kWireVersion;
  connection.handle_refusal(now,
                            {ErrorCode::kVersion, CloseCause::kVersionMismatch,
                             older   ? "the peer speaks an older version of the wire protocol"
                             : newer ? "the peer speaks a newer version of the wire protocol"
                                     : "the peer speaks another version of the wire protocol",
                             older   ? "upgrade heddle on the peer's machine"
                             : newer ? "upgrade heddle on this machine"
                                     : "install the same version of heddle on both sides"},
                            version.nonce);
}

void Endpoint::Body::handle_reset(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  ResetPacket reset;
  if (shared.keyed) {
    drop(now, DropReason::kBadTag);  // it proves nothing
    return;
  }
  if (!read_reset(packet, reset)) {
    drop(now, DropReason::kBadField);
    return;
  }
  // It names what the packet called the connection by, which is what the peer has drawn for one of
  // ours; and a packet of it that may be the one that went astray.
  Connection* connection = table.find_by_peers_name(reset.connection);
  const bool believed = connection != nullptr && connection->is_peer(run.from) &&
                        connection->handle_reset(now, reset);
  if (believed) table.touch(*connection);
  if (!believed) drop(now, DropReason::kUnknownConnection);
}

// Sends a reset for an unknown connection, at a limited rate and never in reply to a packet that
// may be a reset.
void Endpoint::Body::reset_stranger(Nanos now, const RxRun& run, const std::byte* header) {
  const ConnectionHeader base = read_connection_header(header);
  if (base.number == 0) return;  // its sender could not distinguish the answer from a forged one
  const Nanos milli{now.count / 1'000'000};
  if (milli != resets_at_) resets_ = 0;
  resets_at_ = milli;
  if (base.reply_port == 0 || resets_ >= kResetsPerMilli) return;
  ++resets_;
  Asker to{run.from, run.nic};
  to.peer.port = base.reply_port;
  if (Reply* reply = new_reply(to); reply != nullptr) {
    reply->length =
        static_cast<uint8_t>(write_reset({base.connection, base.path, base.number}, reply->bytes));
  }
}

}  // namespace heddle::transport
