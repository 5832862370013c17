// RocePacket: the transport headers of a RoCEv2 packet (IBTA volume 1, chapter 9: BTH and the
// extended headers), as far as sizes and messages need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::recordings {

inline constexpr uint16_t kRocePort = 4791;

enum class RoceService : uint8_t { kRc, kUc, kUd, kXrc };

enum class RoceOperation : uint8_t {
  kSend,
  kWrite,
  kReadResponse,
  kReadRequest,
  kAck,
  kAtomic,
  kAtomicAck,
  kCongestion,  // a congestion notification packet (CNP)
  kOther,
};

struct RocePacket {
  RoceService service = RoceService::kRc;
  RoceOperation operation = RoceOperation::kOther;
  bool begins = false;  // FIRST or ONLY
  bool ends = false;    // LAST or ONLY
  bool immediate = false;
  uint32_t queue_pair = 0;         // the destination
  uint32_t source_queue_pair = 0;  // in datagrams (UD)
  uint32_t number = 0;             // PSN, 24 bits
  uint32_t payload_bytes = 0;
  std::optional<uint32_t> dma_bytes;  // DMA length, where a RETH was captured
  std::optional<uint8_t> syndrome;    // of an AETH
};

enum class RoceRead : uint8_t { kRead, kCut, kMalformed };
// Reads the payload of a UDP datagram to port 4791, of which the capture has the first bytes.
RoceRead read_roce(std::span<const std::byte> captured, uint32_t payload_bytes, RocePacket& packet);

}  // namespace heddle::recordings
