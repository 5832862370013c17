// PacketView: the fields of a packet that an observer of the network reads without keys. For
// readers of captures; the transport itself reads packets by transport/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::transport {

enum class PacketKind : uint8_t { kHandshake, kReset, kData, kControl };

// The frames of a control packet.
enum class FramesView : uint8_t {
  kRead,    // all of them
  kOpaque,  // encrypted, or no frames
  kCut,     // the capture has not all of the packet
};

// A small message that travels in a control packet.
struct MessageView {
  uint16_t channel = 0;
  uint32_t sequence = 0;
  uint32_t bytes = 0;
};

struct PacketView {
  PacketKind kind = PacketKind::kControl;
  uint64_t connection = 0;  // the wire id; of an init or accept: that of packets to its sender

  // Of kData and kControl.
  uint16_t path = 0;
  bool numbered = false;
  uint64_t number = 0;
  bool retransmission = false;
  uint16_t reply_port = 0;

  // Of kData. `carried_bytes` is what follows the header: payload, and a tag where there are keys.
  uint16_t channel = 0;
  uint32_t sequence = 0;
  uint32_t offset = 0;
  uint32_t message_bytes = 0;
  uint32_t carried_bytes = 0;

  // Of kControl.
  FramesView frames = FramesView::kRead;
  std::optional<MessageView> message;

  // Of kHandshake, where the packet has parameters.
  bool has_parameters = false;
  bool has_key = false;
};

// Bytes of a tag, at most, behind the payload of a protected data packet or before it.
inline constexpr uint32_t kViewedTagBytes = 16;
// Bytes before what a data packet carries.
inline constexpr uint32_t kViewedDataHeaderBytes = 44;

// Reads a packet of `packet_bytes`, of which the capture has the first ones. Nothing: it is no
// packet of this version of the protocol, or less than its header was captured.
std::optional<PacketView> view_packet(std::span<const std::byte> captured, size_t packet_bytes);

// The bytes from each packet to the next, where an offload (GSO, GRO) has merged several of a
// connection into one datagram: all but the last are of this length. 0: there is one packet.
size_t merged_stride(std::span<const std::byte> captured);

}  // namespace heddle::transport
