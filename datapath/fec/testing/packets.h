// Packets as the transport sends them, for tests of forward error correction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "transport/wire/packet.h"

namespace heddle::datapath {

using Packet = std::vector<std::byte>;

inline constexpr uint64_t kTestConnection = 0x1122334455667788;

// A data packet of `bytes` in all, with arbitrary contents behind its header.
inline Packet data_packet(uint16_t path, uint64_t number, size_t bytes,
                          uint64_t connection = kTestConnection) {
  transport::DataHeader header;
  header.base.type = transport::PacketType::kData;
  header.base.path = path;
  header.base.connection = connection;
  header.base.number = number;
  Packet packet(bytes);
  transport::write_data_header(header, packet.data());
  Random random(number * 256 + path);
  for (size_t i = transport::kDataHeaderBytes; i < bytes; ++i) {
    packet[i] = static_cast<std::byte>(random.next());
  }
  return packet;
}

}  // namespace heddle::datapath
