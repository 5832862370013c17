// What every packet of a connection has in common: its header, its addresses and its key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/connection/parts.h"
#include "transport/tx_batch.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

// The key of the next burst of `segments`, before its headers are written; null: in clear. A side
// that only acknowledges learns from nothing else that the peer has its key: it probes.
inline PacketKey* next_send_key(ConnectionParts& parts, Nanos now, uint32_t segments) {
  if (!parts.keys.active()) return nullptr;
  PacketKey* key = parts.keys.send_key(now, segments);
  if (parts.keys.wants_proof() && !parts.sender.awaits_ack()) parts.keep_alive.request_probe();
  return key;
}

inline ConnectionHeader packet_header(const ConnectionParts& parts, Nanos now, PacketType type,
                                      uint16_t path, uint8_t flags) {
  ConnectionHeader header;
  header.type = type;
  header.flags = static_cast<uint8_t>(flags | parts.keys.epoch_flags());
  header.path = path;
  header.connection = parts.identity.peer_wire_id;
  header.sent_at = now;
  header.reply_port = parts.shared.options.reply_port;
  return header;
}

// A burst of one packet without payload.
inline TxBurst single_packet(const ConnectionParts& parts, size_t bytes, uint16_t path,
                             const std::byte* packet) {
  TxBurst burst;
  burst.connection = parts.identity.id;
  burst.to = parts.identity.peer;
  burst.path = path;
  burst.segments = 1;
  burst.header_bytes = static_cast<uint16_t>(bytes);
  burst.headers = packet;
  burst.nic = parts.identity.nic;
  if (parts.router != nullptr) parts.router->direct(burst);
  return burst;
}

}  // namespace heddle::transport
