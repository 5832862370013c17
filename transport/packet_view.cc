// See packet_view.h.
#include "transport/packet_view.h"

#include <algorithm>
#include <string_view>

#include "transport/params.h"
#include "transport/wire/control.h"
#include "transport/wire/credit_frames.h"
#include "transport/wire/handshake.h"
#include "transport/wire/nic_frames.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

static_assert(kViewedDataHeaderBytes == kDataHeaderBytes);

// Paths of acknowledgements go further (kFirstChunkPathName); headers name paths of datagrams only.
constexpr uint16_t kMostPaths = kFirstChunkPathName;

constexpr size_t kVersionBytes = 18;
constexpr size_t kResetBytes = 20;

template <typename Frame>
bool skip(Reader& reader, bool (*read)(Reader&, Frame&)) {
  Frame frame{};
  return read(reader, frame);
}

// Reads over the fields of a frame; false: malformed, or no frame of this version.
bool skip_frame(FrameType type, Reader& reader) {
  switch (type) {
    case FrameType::kAck:
      return skip<AckFrame>(reader, read_ack);
    case FrameType::kAckTimes:
      return skip<AckTimes>(reader, read_ack_times);
    case FrameType::kGrant:
      return skip<GrantFrame>(reader, read_grant);
    case FrameType::kCancelSend:
    case FrameType::kCancelReceive:
    case FrameType::kDelivered:
      return skip<CancelFrame>(reader, read_cancel);
    case FrameType::kClose:
      return skip<CloseReason>(reader, read_close);
    case FrameType::kPing:
      return true;
    case FrameType::kPlacedGrant:
      return skip<PlacedGrantFrame>(reader, read_placed_grant);
    case FrameType::kFenced:
    case FrameType::kAskFence:
      return skip<FenceFrame>(reader, read_fence);
    case FrameType::kDemand:
      return skip<DemandFrame>(reader, read_demand);
    case FrameType::kCredit:
      return skip<CreditFrame>(reader, read_credit);
    case FrameType::kNicProbe:
    case FrameType::kNicAnswer:
      return skip<NicFrame>(reader, read_nic_frame);
    case FrameType::kTrimmed:
      return skip<TrimFrame>(reader, read_trim);
    case FrameType::kPadding:
    case FrameType::kMessage:
      break;  // they end the packet
  }
  return false;
}

bool all_zeros(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte each) { return each == std::byte{0}; });
}

bool read_frames(Reader reader, PacketView& view) {
  while (reader.left() > 0) {
    const auto type = static_cast<FrameType>(reader.get<uint8_t>());
    if (type == FrameType::kPadding) return all_zeros(reader.take(reader.left()));
    if (type == FrameType::kMessage) {
      MessageFrame frame;
      if (!read_message(reader, frame)) return false;
      view.message = {frame.channel, frame.sequence.value(), static_cast<uint32_t>(reader.left())};
      return true;
    }
    if (!skip_frame(type, reader)) return false;
  }
  return true;
}

// Of the packets that a connection exchanges; false: not plausible.
bool view_connection(std::span<const std::byte> captured, size_t packet_bytes, PacketView& view) {
  if (captured.size() < kConnectionHeaderBytes) return false;
  const ConnectionHeader header = read_connection_header(captured.data());
  view.connection = header.connection;
  view.path = header.path;
  view.number = header.number;
  view.reply_port = header.reply_port;
  view.retransmission = (header.flags & kFlagRetransmission) != 0;
  const bool control = header.type == PacketType::kControl;
  view.numbered = !control || (header.flags & kFlagNumbered) != 0;
  if (view.connection == 0 || view.path >= kMostPaths || view.reply_port == 0) return false;
  if (view.numbered && view.number == 0) return false;
  if (control) {
    view.kind = PacketKind::kControl;
    const Reader reader(captured.subspan(kConnectionHeaderBytes));
    const bool whole = captured.size() == packet_bytes;
    view.frames = !whole                      ? FramesView::kCut
                  : read_frames(reader, view) ? FramesView::kRead
                                              : FramesView::kOpaque;
    return true;
  }
  if (captured.size() < kDataHeaderBytes) return false;
  const DataHeader data = read_data_header(captured.data());
  view.kind = PacketKind::kData;
  view.retransmission |= header.type == PacketType::kRetransmission;
  view.channel = data.channel;
  view.sequence = data.sequence.value();
  view.offset = data.offset;
  view.message_bytes = data.message_bytes;
  view.carried_bytes = static_cast<uint32_t>(packet_bytes - kDataHeaderBytes);
  return data.message_bytes <= kMaxMessageBytes && data.offset <= data.message_bytes;
}

void take_parameters(const HandshakeParameters& parameters, WireId wire_id, PacketView& view) {
  view.connection = wire_id;
  view.has_parameters = true;
  view.has_key = parameters.key.present;
}

// Whether it has one of the two lengths: without a proof of a key, and with one.
bool has_length(std::span<const std::byte> bytes, size_t without_proof) {
  return bytes.size() == without_proof || bytes.size() == without_proof + kMacBytes;
}

bool view_handshake(PacketType type, std::span<const std::byte> bytes, PacketView& view) {
  for (size_t i = 1; i < kHandshakeIdAt; ++i) {
    if (i >= bytes.size() || bytes[i] != std::byte{0}) return false;
  }
  switch (type) {
    case PacketType::kInit: {
      InitPacket packet;
      if (!read_init(bytes, packet)) return false;
      take_parameters(packet.parameters, packet.wire_id, view);
      return true;
    }
    case PacketType::kAccept: {
      AcceptPacket packet;
      if (!read_accept(bytes, packet)) return false;
      take_parameters(packet.parameters, packet.wire_id, view);
      return true;
    }
    case PacketType::kRetry: {
      RetryPacket packet;
      return has_length(bytes, kRetryMacAt) && read_retry(bytes, packet);
    }
    case PacketType::kRefuse: {
      RefusePacket packet;
      return has_length(bytes, kRefuseMacAt) && read_refuse(bytes, packet);
    }
    case PacketType::kVersion: {
      VersionPacket packet;
      return bytes.size() == kVersionBytes && read_version(bytes, packet);
    }
    default:
      return false;
  }
}

// Packets that an offload merges: UDP_MAX_SEGMENTS of Linux.
constexpr uint64_t kMostMerged = 128;

bool is_of_connection(std::span<const std::byte> bytes) {
  if (bytes.size() < kConnectionHeaderBytes || version_of(bytes[0]) != kWireVersion) return false;
  const PacketType type = type_of(bytes[0]);
  return type == PacketType::kData || type == PacketType::kControl ||
         type == PacketType::kRetransmission;
}

// Whether the header at `next` is of a later packet of the same path. Both have path and wire id.
bool follows(std::span<const std::byte> first, std::span<const std::byte> next) {
  if (!is_of_connection(next)) return false;
  const ConnectionHeader before = read_connection_header(first.data());
  const ConnectionHeader after = read_connection_header(next.data());
  if (after.reply_port != before.reply_port) return false;
  const uint64_t step = after.number - before.number;
  if (before.number > 0 && after.number > 0) return step > 0 && step <= kMostMerged;
  return before.sent_at < after.sent_at;
}

}  // namespace

std::optional<PacketView> view_packet(std::span<const std::byte> captured, size_t packet_bytes) {
  if (captured.empty() || captured.size() > packet_bytes) return std::nullopt;
  if (version_of(captured[0]) != kWireVersion) return std::nullopt;
  PacketView view;
  const PacketType type = type_of(captured[0]);
  switch (type) {
    case PacketType::kData:
    case PacketType::kControl:
    case PacketType::kRetransmission:
      if (!view_connection(captured, packet_bytes, view)) return std::nullopt;
      return view;
    case PacketType::kReset: {
      ResetPacket packet;
      if (captured.size() != kResetBytes || !read_reset(captured, packet)) return std::nullopt;
      view.kind = PacketKind::kReset;
      view.connection = packet.connection;
      return view;
    }
    default:
      view.kind = PacketKind::kHandshake;
      if (!view_handshake(type, captured, view)) return std::nullopt;
      return view;
  }
}

size_t merged_stride(std::span<const std::byte> captured) {
  if (!is_of_connection(captured)) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(captured.data()), captured.size());
  // The path and the wire id: ten bytes of which eight are random.
  const std::string_view sought = bytes.substr(kPathAt, kNumberAt - kPathAt);
  size_t at = kConnectionHeaderBytes + kPathAt - 1;
  for (size_t i = 0; i < params::kMostCandidates; ++i) {
    at = bytes.find(sought, at + 1);
    if (at == std::string_view::npos) return 0;
    const std::span<const std::byte> next = captured.subspan(at - kPathAt);
    if (follows(captured, next) && view_packet(next, next.size())) return at - kPathAt;
  }
  return 0;
}

}  // namespace heddle::transport
