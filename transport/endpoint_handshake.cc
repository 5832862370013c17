// Packets of nobody's connection: inits, the answers to ours, resets. What an unknown peer can make
// us store is a few replies; what it can make us send is less than what it sent.
#include <algorithm>

#include "transport/endpoint_body.h"

namespace heddle::transport {

using events::CloseCause;
using events::DropReason;

Endpoint::Body::Reply* Endpoint::Body::new_reply(const Address& to) {
  if (replies_.size() >= kMaxReplies) return nullptr;
  Reply& reply = replies_.push_back({});
  reply.to = to;
  return &reply;
}

void Endpoint::Body::refuse(Nanos now, const Address& to, const InitPacket& init,
                            RefuseReason reason) {
  drop(now, DropReason::kClosed);
  Reply* reply = new_reply(to);
  if (reply == nullptr) return;
  reply->length =
      static_cast<uint8_t>(write_refuse({init.connection, init.nonce, reason}, reply->bytes));
}

void Endpoint::Body::handle_init(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  InitPacket init;
  const bool foreign = version_of(packet[0]) != kWireVersion;
  const bool readable = read_init(packet, init);
  if (packet.size() < kInitBytes) {
    drop(now, DropReason::kBadLength);
    return;
  }
  Address peer = run.from;
  peer.port = init.reply_port;
  if (foreign) {
    // Its id, nonce and port stand where ours do in every version.
    drop(now, DropReason::kBadVersion);
    Reply* reply = init.reply_port == 0 ? nullptr : new_reply(peer);
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
  if (!shared.options.accept) {
    refuse(now, peer, init, RefuseReason::kNotAccepting);
    return;
  }
  if (init.has_cookie && cookies_.good(now, peer, init)) {
    accept(now, peer, init);
    return;
  }
  if (init.has_cookie) drop(now, DropReason::kBadCookie);
  if (Reply* reply = new_reply(peer); reply != nullptr) {
    const RetryPacket retry{init.connection, init.nonce, cookies_.make(now, peer, init)};
    reply->length = static_cast<uint8_t>(write_retry(retry, reply->bytes));
  }
}

void Endpoint::Body::accept(Nanos now, const Address& peer, const InitPacket& init) {
  if (Connection* known = table.find_accepted(peer, init.connection); known != nullptr) {
    known->repeat_accept(init);
    table.touch(*known);
    return;
  }
  Connection* connection = table.add(peer);
  if (connection == nullptr) {
    refuse(now, peer, init, RefuseReason::kFull);
    return;
  }
  if (const Result<void> begun = connection->begin_accept(now, init); !begun) {
    table.remove(*connection);
    const bool sizes = begun.error().code == ErrorCode::kUnavailable;
    refuse(now, peer, init,
           sizes ? RefuseReason::kDatagramsTooSmall : RefuseReason::kCongestionUnknown);
    return;
  }
  table.note_accepted(peer, init.connection, connection->id());
  table.touch(*connection);
}

// An answer to an init of ours. Its nonce shows that it comes from somebody who saw the init.
void Endpoint::Body::handle_answer(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  RetryPacket retry;
  AcceptPacket accepted;
  RefusePacket refused;
  const PacketType type = type_of(packet[0]);
  uint32_t id = 0;
  std::copy_n(packet.begin() + kConnectionAt, sizeof(id), reinterpret_cast<std::byte*>(&id));
  Connection* connection = table.find(id);
  if (connection == nullptr || connection->peer().host != run.from.host) {
    drop(now, DropReason::kUnknownConnection);
    return;
  }
  if (type == PacketType::kRetry && read_retry(packet, retry)) {
    connection->handle_retry(now, retry);
  } else if (type == PacketType::kAccept && read_accept(packet, accepted)) {
    connection->handle_accept(now, accepted);
  } else if (type == PacketType::kRefuse && read_refuse(packet, refused)) {
    const char* why = refused.reason == RefuseReason::kFull
                          ? "the peer has as many connections as it may"
                      : refused.reason == RefuseReason::kCongestionUnknown
                          ? "the peer does not know that congestion control"
                      : refused.reason == RefuseReason::kDatagramsTooSmall
                          ? "the largest datagram of this side or of the peer is below 512 bytes"
                          : "the peer does not accept connections";
    connection->handle_refusal(now, ErrorCode::kUnavailable, CloseCause::kRefused, why,
                               "look at the other side's settings", refused.nonce);
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
  connection.handle_refusal(now, ErrorCode::kVersion, CloseCause::kVersionMismatch,
                            "the peer speaks another version of the wire protocol",
                            "install the same version of heddle on both sides", version.nonce);
}

void Endpoint::Body::handle_reset(Nanos now, const RxRun& run, std::span<const std::byte> packet) {
  ResetPacket reset;
  if (!read_reset(packet, reset)) {
    drop(now, DropReason::kBadField);
    return;
  }
  // It names the id that the stranger was called by, which is the peer's id of a connection of
  // ours; and a packet of it that may be the one that went astray.
  bool believed = false;
  table.for_each([&](Connection& connection) {
    if (connection.peer_id() != reset.connection || connection.peer().host != run.from.host) return;
    if (!connection.handle_reset(now, reset)) return;
    believed = true;
    table.touch(connection);
  });
  if (!believed) drop(now, DropReason::kUnknownConnection);
}

// "I know no such connection", at most so often, and never to a packet that may be one itself.
void Endpoint::Body::reset_stranger(Nanos now, const RxRun& run, const std::byte* header) {
  const ConnectionHeader base = read_connection_header(header);
  if (base.number == 0) return;  // its sender could not tell the answer from a forged one
  const Nanos milli{now.count / 1'000'000};
  if (milli != resets_at_) resets_ = 0;
  resets_at_ = milli;
  if (base.reply_port == 0 || resets_ >= kResetsPerMilli) return;
  ++resets_;
  Address to = run.from;
  to.port = base.reply_port;
  if (Reply* reply = new_reply(to); reply != nullptr) {
    reply->length =
        static_cast<uint8_t>(write_reset({base.connection, base.path, base.number}, reply->bytes));
  }
}

}  // namespace heddle::transport
