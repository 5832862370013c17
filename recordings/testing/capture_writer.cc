// See capture_writer.h.
#include "recordings/testing/capture_writer.h"

#include <algorithm>

namespace heddle::recordings {
namespace {

std::string big(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string padded(std::string body) {
  body.resize((body.size() + 3) / 4 * 4);
  return body;
}

std::string host(uint8_t number, bool ipv6) {
  if (!ipv6) return {10, 0, 0, static_cast<char>(number)};
  std::string text(16, '\0');
  text[0] = '\xfd';
  text[15] = static_cast<char>(number);
  return text;
}

constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kEnhancedPacket = 6;

}  // namespace

std::string CaptureWriter::ordered(uint64_t value, size_t bytes) const {
  std::string text = big(value, bytes);
  if (!shape_.big_endian) std::reverse(text.begin(), text.end());
  return text;
}

void CaptureWriter::add_block(uint32_t type, const std::string& body) {
  const auto length = static_cast<uint32_t>(body.size() + 12);
  bytes_ += ordered(type, 4) + ordered(length, 4) + body + ordered(length, 4);
}

CaptureWriter::CaptureWriter(CaptureShape shape) : shape_(shape) {
  if (shape_.format == CaptureFormat::kPcapng) {
    add_block(kSectionHeader,
              ordered(0x1a2b3c4d, 4) + ordered(1, 2) + ordered(0, 2) + ordered(UINT64_MAX, 8));
    // if_tsresol: nanoseconds
    const std::string resolution = ordered(9, 2) + ordered(1, 2) + padded("\x09") + ordered(0, 4);
    add_block(kInterface, ordered(static_cast<uint64_t>(shape_.link), 2) + ordered(0, 2) +
                              ordered(shape_.snapshot_bytes, 4) + resolution);
    return;
  }
  const bool nanos = shape_.format == CaptureFormat::kPcapNanos;
  bytes_ = ordered(nanos ? 0xa1b23c4d : 0xa1b2c3d4, 4) + ordered(2, 2) + ordered(4, 2) +
           ordered(0, 8) + ordered(shape_.snapshot_bytes, 4) +
           ordered(static_cast<uint64_t>(shape_.link), 4);
}

void CaptureWriter::add(int64_t at_ns, const std::string& frame) {
  const std::string captured = frame.substr(0, shape_.snapshot_bytes);
  const std::string sizes = ordered(captured.size(), 4) + ordered(frame.size(), 4);
  const auto at = static_cast<uint64_t>(at_ns);
  if (shape_.format == CaptureFormat::kPcapng) {
    add_block(kEnhancedPacket, ordered(0, 4) + ordered(at >> 32, 4) + ordered(at & UINT32_MAX, 4) +
                                   sizes + padded(captured));
    return;
  }
  const uint64_t part = at % 1'000'000'000;
  const bool nanos = shape_.format == CaptureFormat::kPcapNanos;
  bytes_ +=
      ordered(at / 1'000'000'000, 4) + ordered(nanos ? part : part / 1000, 4) + sizes + captured;
}

std::string link_header(int link, bool ipv6, int tags) {
  const std::string type = ipv6 ? big(0x86dd, 2) : big(0x0800, 2);
  switch (link) {
    case 1: {
      std::string text(12, '\x02');
      for (int i = 0; i < tags; ++i) text += big(i + 1 < tags ? 0x88a8 : 0x8100, 2) + big(7, 2);
      return text + type;
    }
    case 113:
      return std::string(14, '\0') + type;
    case 276:
      return type + std::string(18, '\0');
    case 0:
      return {2, 0, 0, 0};
    default:
      return "";
  }
}

std::string udp_packet(const UdpFrame& frame, const std::string& payload) {
  const size_t udp_bytes = payload.size() + 8;
  const std::string udp =
      big(frame.from_port, 2) + big(frame.to_port, 2) + big(udp_bytes, 2) + big(0, 2) + payload;
  const std::string hosts = host(frame.from, frame.ipv6) + host(frame.to, frame.ipv6);
  if (frame.ipv6) {
    return big(0x60000000 | uint32_t{frame.ecn} << 20, 4) + big(udp_bytes, 2) + big(17, 1) +
           big(64, 1) + hosts + udp;
  }
  return big(0x45, 1) + big(frame.ecn, 1) + big(udp_bytes + 20, 2) + big(1, 2) + big(0x4000, 2) +
         big(64, 1) + big(17, 1) + big(0, 2) + hosts + udp;
}

std::string ethernet_frame(const UdpFrame& frame, const std::string& payload) {
  return link_header(1, frame.ipv6) + udp_packet(frame, payload);
}

std::string roce_payload(const RoceFrame& frame) {
  const size_t pad = (4 - frame.payload_bytes % 4) % 4;
  return big(frame.opcode, 1) + big(pad << 4, 1) + big(0xffff, 2) + big(0, 1) +
         big(frame.queue_pair, 3) + big(0, 1) + big(frame.number & 0xffffff, 3) + frame.extended +
         std::string(frame.payload_bytes + pad + 4, 'd');
}

std::string reth(uint32_t dma_bytes) { return big(0x1000, 8) + big(99, 4) + big(dma_bytes, 4); }
std::string aeth(uint8_t syndrome) { return big(syndrome, 1) + big(0, 3); }
std::string deth(uint32_t queue_pair) { return big(1, 4) + big(queue_pair, 4); }

}  // namespace heddle::recordings
