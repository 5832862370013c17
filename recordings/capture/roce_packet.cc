// See roce_packet.h.
#include "recordings/capture/roce_packet.h"

#include <array>

#include "recordings/capture/network_bytes.h"

namespace heddle::recordings {
namespace {

constexpr uint32_t kBthBytes = 12;
constexpr uint32_t kCrcBytes = 4;
constexpr uint32_t kDatagramHeaderBytes = 8;  // DETH
constexpr uint32_t kWriteHeaderBytes = 16;    // RETH
constexpr uint32_t kAckHeaderBytes = 4;       // AETH
constexpr uint32_t kXrcHeaderBytes = 4;       // XRCETH
constexpr uint32_t kWordBytes = 4;            // immediate data, or an R_Key to invalidate
constexpr uint8_t kCongestionOpcode = 0x81;

enum Place : uint8_t { kMiddle = 0, kFirst = 1, kLast = 2, kOnly = 3 };

// What the low five bits of an opcode say.
struct Opcode {
  RoceOperation operation = RoceOperation::kOther;
  Place place = kMiddle;
  uint32_t header_bytes = 0;  // after BTH, without DETH and XRCETH
  bool immediate = false;
};

using enum RoceOperation;
constexpr std::array<Opcode, 24> kOpcodes{{
    {kSend, kFirst},
    {kSend, kMiddle},
    {kSend, kLast},
    {kSend, kLast, kWordBytes, true},
    {kSend, kOnly},
    {kSend, kOnly, kWordBytes, true},
    {kWrite, kFirst, kWriteHeaderBytes},
    {kWrite, kMiddle},
    {kWrite, kLast},
    {kWrite, kLast, kWordBytes, true},
    {kWrite, kOnly, kWriteHeaderBytes},
    {kWrite, kOnly, kWriteHeaderBytes + kWordBytes, true},
    {kReadRequest, kOnly, kWriteHeaderBytes},
    {kReadResponse, kFirst, kAckHeaderBytes},
    {kReadResponse, kMiddle},
    {kReadResponse, kLast, kAckHeaderBytes},
    {kReadResponse, kOnly, kAckHeaderBytes},
    {kAck, kOnly, kAckHeaderBytes},
    {kAtomicAck, kOnly, kAckHeaderBytes + 8},
    {kAtomic, kOnly, 28},
    {kAtomic, kOnly, 28},
    {kOther},
    {kSend, kLast, kWordBytes},
    {kSend, kOnly, kWordBytes},
}};

// The service that the high three bits name; nothing: one without messages of its own.
std::optional<RoceService> service_of(uint8_t opcode) {
  switch (opcode >> 5) {
    case 0:
      return RoceService::kRc;
    case 1:
      return RoceService::kUc;
    case 3:
      return RoceService::kUd;
    case 5:
      return RoceService::kXrc;
    default:
      return std::nullopt;
  }
}

bool has_dma_length(RoceOperation operation, bool begins) {
  return operation == kReadRequest || (operation == kWrite && begins);
}

bool is_request(RoceOperation operation) {
  return operation == kSend || operation == kWrite || operation == kReadRequest ||
         operation == kAtomic;
}

void read_extended(NetworkBytes in, RocePacket& packet) {
  if (packet.service == RoceService::kUd) {
    in.u32();  // the queue key
    in.u8();
    packet.source_queue_pair = in.u24();
    return;
  }
  if (packet.service == RoceService::kXrc && is_request(packet.operation)) in.take(kXrcHeaderBytes);
  if (has_dma_length(packet.operation, packet.begins)) {
    in.take(12);  // virtual address, R_Key
    const uint32_t bytes = in.u32();
    if (in.ok()) packet.dma_bytes = bytes;
  } else if (packet.operation == kAck) {
    const uint8_t syndrome = in.u8();
    if (in.ok()) packet.syndrome = syndrome;
  }
}

uint32_t extended_bytes(const RocePacket& packet, const Opcode& opcode) {
  uint32_t bytes = opcode.header_bytes;
  if (packet.service == RoceService::kUd) bytes += kDatagramHeaderBytes;
  if (packet.service == RoceService::kXrc && is_request(packet.operation)) bytes += kXrcHeaderBytes;
  return bytes;
}

}  // namespace

RoceRead read_roce(std::span<const std::byte> captured, uint32_t payload_bytes,
                   RocePacket& packet) {
  if (payload_bytes < kBthBytes + kCrcBytes) return RoceRead::kMalformed;
  NetworkBytes in(captured);
  const uint8_t code = in.u8();
  const uint8_t bits = in.u8();
  in.u16();  // partition key
  in.u8();   // congestion bits
  packet.queue_pair = in.u24();
  in.u8();  // whether an acknowledgement is wanted
  packet.number = in.u24();
  if (!in.ok()) return RoceRead::kCut;
  if ((bits & 0xf) != 0) return RoceRead::kMalformed;  // the only version of the header is 0
  if (code == kCongestionOpcode) {
    packet.operation = kCongestion;
    return RoceRead::kRead;
  }
  const auto service = service_of(code);
  const size_t low = code & 0x1f;
  if (!service || low >= kOpcodes.size()) return RoceRead::kRead;  // kOther
  const Opcode& opcode = kOpcodes[low];
  packet.service = *service;
  packet.operation = opcode.operation;
  packet.begins = (opcode.place & kFirst) != 0;
  packet.ends = (opcode.place & kLast) != 0;
  packet.immediate = opcode.immediate;
  const uint32_t pad_bytes = bits >> 4 & 3;
  const uint32_t around = kBthBytes + extended_bytes(packet, opcode) + pad_bytes + kCrcBytes;
  if (payload_bytes < around) return RoceRead::kMalformed;
  packet.payload_bytes = payload_bytes - around;
  read_extended(in, packet);
  if (packet.service == RoceService::kUd && captured.size() < kBthBytes + kDatagramHeaderBytes) {
    return RoceRead::kCut;
  }
  return RoceRead::kRead;
}

}  // namespace heddle::recordings
