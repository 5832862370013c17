// What every packet of a connection has in common: its header, its addresses and its key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/tx_batch.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

struct ConnectionParts;

// What became of the try to add a packet to a batch.
enum class SendResult : uint8_t {
  kSent,
  kNothing,  // nothing may leave now
  kFull,     // the batch has no room
};

// The key of the next burst of `segments`, before its headers are written; null: in clear.
SealKey* next_send_key(ConnectionParts& parts, Nanos now, uint32_t segments);
ConnectionHeader packet_header(const ConnectionParts& parts, Nanos now, PacketType type,
                               uint16_t path, uint8_t flags);
// A burst of one packet without payload.
TxBurst single_packet(const ConnectionParts& parts, size_t bytes, uint16_t path,
                      const std::byte* packet);

}  // namespace heddle::transport
