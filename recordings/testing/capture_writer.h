// CaptureWriter: captures for tests, in each format and byte order, and the packets in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::recordings {

enum class CaptureFormat { kPcapMicros, kPcapNanos, kPcapng };

struct CaptureShape {
  CaptureFormat format = CaptureFormat::kPcapMicros;
  bool big_endian = false;
  int link = 1;
  uint32_t snapshot_bytes = 262'144;
};

class CaptureWriter {
 public:
  explicit CaptureWriter(CaptureShape shape);

  // Of a longer frame the file has the first `snapshot_bytes`.
  void add(int64_t at_ns, const std::string& frame);
  const std::string& bytes() const { return bytes_; }

 private:
  void add_block(uint32_t type, const std::string& body);
  std::string ordered(uint64_t value, size_t bytes) const;

  CaptureShape shape_;
  std::string bytes_;
};

// What is before the IP header, for a link type of a capture; `tags` VLAN tags on Ethernet.
std::string link_header(int link, bool ipv6, int tags = 0);

// An IP packet with a UDP datagram, from host `from` (10.0.0.from, or fd00::from) to host `to`.
struct UdpFrame {
  uint8_t from = 1;
  uint8_t to = 2;
  uint16_t from_port = 50'000;
  uint16_t to_port = 4791;
  bool ipv6 = false;
  uint8_t ecn = 2;
};
std::string udp_packet(const UdpFrame& frame, const std::string& payload);
// The same on Ethernet.
std::string ethernet_frame(const UdpFrame& frame, const std::string& payload);

// The payload of a datagram of RoCEv2.
struct RoceFrame {
  uint8_t opcode = 0;
  uint32_t queue_pair = 17;
  uint32_t number = 0;
  std::string extended;  // headers after BTH
  size_t payload_bytes = 0;
};
std::string roce_payload(const RoceFrame& frame);
// A RETH with this DMA length; an AETH with this syndrome; a DETH from this queue pair.
std::string reth(uint32_t dma_bytes);
std::string aeth(uint8_t syndrome);
std::string deth(uint32_t queue_pair);

}  // namespace heddle::recordings
