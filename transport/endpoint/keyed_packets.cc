// What cluster keys add to an endpoint: a peer that does not prove one gets no answer, and a packet
// that is not encrypted or authenticated with a connection's keys does not count as its own.
#include "transport/endpoint/body.h"

namespace heddle::transport {

using events::DropReason;

std::nullptr_t Endpoint::Body::drop_encrypted(Nanos now, ConnectionId id, DropReason why) {
  ++shared.statistics.datagrams_received;
  shared.observer.drop(now, id, why);
  return nullptr;
}

Connection* Endpoint::Body::find_claimed(Nanos now, const Address& from,
                                         std::span<const std::byte> packet) {
  if (version_of(packet[0]) != kWireVersion) return drop_encrypted(now, 0, DropReason::kBadVersion);
  Connection* connection = table.find_named(read_connection_header(packet.data()).connection);
  if (connection == nullptr || !connection->is_peer(from)) {
    return drop_encrypted(now, 0, DropReason::kUnknownConnection);
  }
  return connection;
}

PacketKey* Endpoint::Body::receive_key(Nanos now, const Address& from,
                                       std::span<const std::byte> packet) {
  if (packet.size() < clear_bytes(packet[0]) + kTagBytes) {
    return drop_encrypted(now, 0, DropReason::kBadLength);
  }
  Connection* connection = find_claimed(now, from, packet);
  if (connection == nullptr) return nullptr;
  DropReason why = DropReason::kBadTag;
  PacketKey* key = connection->receive_key(read_connection_header(packet.data()), why);
  return key != nullptr ? key : drop_encrypted(now, connection->id(), why);
}

Endpoint::BurstClaim Endpoint::Body::claim_burst(Nanos now, const Address& from,
                                                 std::span<const std::byte> header,
                                                 uint32_t segments) {
  BurstClaim claim;
  Connection* connection = find_claimed(now, from, header);
  if (connection == nullptr) return claim;
  DropReason why = DropReason::kBadTag;
  const ConnectionHeader base = read_connection_header(header.data());
  claim.tags = connection->receive_tags(base, segments, why, claim.apart);
  if (claim.tags == nullptr && !claim.apart) drop_encrypted(now, connection->id(), why);
  return claim;
}

void Endpoint::Body::note_decrypted(Nanos now, std::span<const std::byte> header, bool ok) {
  const ConnectionHeader base = read_connection_header(header.data());
  Connection* connection = table.find_named(base.connection);
  CHECK(connection != nullptr);
  if (ok) {
    connection->note_authentic(base);
  } else {
    ++shared.statistics.datagrams_received;
    shared.observer.drop(now, connection->id(), DropReason::kBadTag);
  }
}

bool Endpoint::Body::may_ask(Nanos now, const InitPacket& init, std::span<const std::byte> packet) {
  const KeyParameters& given = init.parameters.key;
  const std::shared_ptr<const RingKey> key = given.present ? shared.ring.find(given.id) : nullptr;
  if (!key) {
    drop(now, DropReason::kNoKey);
    return false;
  }
  if (!proves(*key, packet, given.mac_at, {})) {
    drop(now, DropReason::kBadTag);
    return false;
  }
  // Our own init, reflected: accepting it would connect this endpoint with itself.
  const Connection* own = table.find(init.connection);
  if (own != nullptr && own->key() != nullptr && own->key_nonce() == given.nonce) {
    drop(now, DropReason::kReplayed);
    return false;
  }
  return true;
}

bool Endpoint::Body::may_answer(Nanos now, Connection& connection,
                                std::span<const std::byte> packet) {
  if (connection.key() == nullptr) return true;
  if (!connection.handshaking()) {
    drop(now, DropReason::kReplayed);
    return false;
  }
  const RingKey& key = *connection.key();
  RetryPacket retry;
  AcceptPacket accepted;
  RefusePacket refused;
  bool proven = false;
  switch (type_of(packet[0])) {
    case PacketType::kRetry:
      proven = read_retry(packet, retry) && retry.proven &&
               proves(key, packet, kRetryMacAt, connection.key_nonce());
      break;
    case PacketType::kAccept:
      proven =
          read_accept(packet, accepted) && accepted.parameters.key.present &&
          accepted.parameters.key.id == key.id &&
          accepted.parameters.key.protection == static_cast<uint8_t>(shared.options.protection) &&
          proves(key, packet, accepted.parameters.key.mac_at, connection.key_nonce());
      break;
    case PacketType::kRefuse:
      if (!read_refuse(packet, refused)) break;
      proven = refused.proven && proves(key, packet, kRefuseMacAt, connection.key_nonce());
      if (!proven) connection.note_hint(text_of(refused.reason));
      break;
    default:
      connection.note_hint("the peer speaks another version of the wire protocol");
  }
  if (!proven) drop(now, DropReason::kBadTag);
  return proven;
}

}  // namespace heddle::transport
