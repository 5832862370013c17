// See heddle_flows.h.
#include "recordings/capture/heddle_flows.h"

#include <algorithm>
#include <optional>

namespace heddle::recordings {
namespace {

using transport::FramesView;
using transport::kViewedDataHeaderBytes;
using transport::kViewedTagBytes;
using transport::PacketKind;

// Above this no link carries a packet whole: an offload has merged several.
constexpr uint64_t kLargestPacket = 9'216;
// Packets that GSO and GRO merge, at most: UDP_MAX_SEGMENTS of Linux.
constexpr uint64_t kMostMerged = 128;
// The receiver drops what is farther ahead of the newest number (protocol.md, header).
constexpr uint64_t kMostAhead = uint64_t{1} << 24;

// Packets of forward error correction (protocol.md has their layout).
constexpr std::byte kParityFirst{0x2b};
constexpr std::byte kParityFormat{1};
constexpr size_t kAnnouncementBytes = 8;
constexpr size_t kParityHeaderBytes = 16;

bool is_parity(std::span<const std::byte> packet) {
  return packet.size() >= kAnnouncementBytes && packet[0] == kParityFirst &&
         packet[1] == kParityFormat;
}

bool is_announcement(std::span<const std::byte> packet, size_t packet_bytes) {
  constexpr std::byte kZero{0};
  return packet_bytes == kAnnouncementBytes && packet[2] == kZero && packet[3] == kZero &&
         packet[6] == kZero && packet[7] == kZero;
}

// Of a row of parity: the wire id of the packets that it covers.
std::optional<uint64_t> covered_connection(std::span<const std::byte> packet) {
  const auto at = [&](size_t byte) { return static_cast<uint8_t>(packet[byte]); };
  const bool row = packet.size() >= kParityHeaderBytes && at(2) == 1 && at(3) <= 7 && at(6) >= 1 &&
                   at(6) <= 32 && at(7) >= 1 && at(7) <= 8;
  if (!row) return std::nullopt;
  uint64_t wire_id = 0;
  for (size_t i = 0; i < sizeof wire_id; ++i) {
    wire_id |= static_cast<uint64_t>(packet[kAnnouncementBytes + i]) << 8 * i;
  }
  return wire_id;
}

// Whether what a data packet carries fits into its message, with a tag at most.
bool fits(const transport::PacketView& view) {
  return uint64_t{view.offset} + view.carried_bytes <=
         uint64_t{view.message_bytes} + kViewedTagBytes;
}

}  // namespace

bool HeddleFlows::is_ours(const View& view, uint16_t port) const {
  if (ports_.contains(port)) return true;
  switch (view.kind) {
    case PacketKind::kHandshake:
      return true;
    case PacketKind::kReset:  // it has no field that could be implausible
      return connections_.contains(view.connection);
    case PacketKind::kData:
      return fits(view) || connections_.contains(view.connection);
    case PacketKind::kControl:
      return view.frames == FramesView::kRead || connections_.contains(view.connection);
  }
  return false;
}

bool HeddleFlows::add(Nanos at, const UdpDatagram& datagram) {
  const bool named = ports_.contains(datagram.to_port);
  std::span<const std::byte> captured = datagram.payload;
  if (is_parity(captured)) return add_parity(at, datagram);
  size_t left = datagram.payload_bytes;
  // The first packet must be plausible; what an offload merged with it is of the same connection.
  const size_t stride = transport::merged_stride(captured);
  const auto view = stride == 0 ? transport::view_packet(captured, left)
                                : transport::view_packet(captured.first(stride), stride);
  if (!view || !is_ours(*view, datagram.to_port)) {
    if (named) {
      ++counts_.packets;
      ++counts_.malformed;
    }
    return named;
  }
  if (datagram.marked) ++counts_.marked;
  if (stride == 0) {
    ++counts_.packets;
    add_packet(at, *view, left);
    return true;
  }
  ++counts_.merged;
  while (left > 0) {
    const size_t bytes = std::min(stride, left);
    const auto part = captured.first(std::min(bytes, captured.size()));
    ++counts_.packets;
    if (const auto next = transport::view_packet(part, bytes)) add_packet(at, *next, bytes);
    captured = captured.subspan(part.size());
    left -= bytes;
  }
  return true;
}

// Of a connection that was seen, or by its port or form heddle's.
bool HeddleFlows::add_parity(Nanos at, const UdpDatagram& datagram) {
  const auto wire_id = covered_connection(datagram.payload);
  const auto known = wire_id ? connections_.find(*wire_id) : connections_.end();
  if (known != connections_.end()) {
    known->second.sent_parity = true;
  } else if (!is_announcement(datagram.payload, datagram.payload_bytes) &&
             !ports_.contains(datagram.to_port)) {
    return false;
  }
  if (datagram.marked) ++counts_.marked;
  ++counts_.packets;
  parity_.add_packet(at, datagram.payload_bytes);
  return true;
}

void HeddleFlows::add_packet(Nanos at, const View& view, size_t packet_bytes) {
  switch (view.kind) {
    case PacketKind::kData:
      add_data(at, view, packet_bytes > kLargestPacket);
      return;
    case PacketKind::kControl:
      add_control(at, view, packet_bytes);
      return;
    case PacketKind::kHandshake:
    case PacketKind::kReset:
      handshake_.add_packet(at, packet_bytes);
      add_handshake(view);
      return;
  }
}

HeddleFlows::Connection* HeddleFlows::connection_of(uint64_t wire_id) {
  if (const auto at = connections_.find(wire_id); at != connections_.end()) return &at->second;
  if (connections_.size() < kMostConnections) return &connections_[wire_id];
  ++counts_.not_followed;
  return nullptr;
}

void HeddleFlows::add_handshake(const View& view) {
  if (!view.has_parameters) return;
  Connection* const connection = connection_of(view.connection);
  if (connection == nullptr) return;
  connection->in_handshake = true;
  if (!view.has_key) return;
  connection->is_protected = true;
  connection->tag_bytes = kViewedTagBytes;
}

void HeddleFlows::track(const View& view, bool merged_and_cut, TrafficCounter& of) {
  if (!view.numbered) return;
  const PathName name{view.connection, view.path};
  auto at = paths_.find(name);
  if (at == paths_.end()) {
    if (paths_.size() == kMostPaths) {
      ++counts_.not_followed;
      return;
    }
    at = paths_.try_emplace(name).first;
  }
  Path& path = at->second;
  // No honest sender is farther ahead: the packet's number counts for nothing.
  if (path.numbers.begun() && view.number > path.numbers.highest() + kMostAhead) return;
  const Arrival arrival = path.numbers.see(view.number, path.may_skip);
  if (arrival == Arrival::kLate) ++of.counts().late_packets;
  path.may_skip = merged_and_cut ? kMostMerged : 0;
}

// A tag is seen where a message ends, and where a packet follows another of its message.
void HeddleFlows::learn_tag(Connection& connection, const View& view) {
  const View& before = connection.before;
  const bool over = uint64_t{view.offset} + view.carried_bytes > view.message_bytes;
  const bool follows =
      before.message_bytes == view.message_bytes && before.sequence == view.sequence &&
      before.channel == view.channel && before.path == view.path &&
      before.number + 1 == view.number &&
      uint64_t{before.offset} + before.carried_bytes == uint64_t{view.offset} + kViewedTagBytes &&
      view.offset > before.offset;
  connection.before = view;
  if (!over && !follows) return;
  connection.is_protected = true;
  connection.tag_bytes = kViewedTagBytes;
}

void HeddleFlows::add_data(Nanos at, const View& view, bool merged_and_cut) {
  Connection* const connection = connection_of(view.connection);
  if (connection != nullptr && !merged_and_cut) learn_tag(*connection, view);
  const uint64_t tag_bytes = connection == nullptr ? 0 : connection->tag_bytes;
  const uint64_t payload = view.carried_bytes - std::min<uint64_t>(tag_bytes, view.carried_bytes);
  if (merged_and_cut) {
    ++counts_.merged_and_cut;
    data_.add_uncounted(at, payload);
  } else {
    data_.add_packet(at, payload);
  }
  track(view, merged_and_cut, data_);
  if (view.retransmission) ++data_.counts().repeated_packets;
  if (connection == nullptr) return;
  connection->sent_data = true;
  const auto packets = messages_.add({view.connection, view.channel, view.sequence},
                                     {view.offset, view.offset + payload, view.message_bytes});
  if (packets) data_.add_message(view.message_bytes, *packets);
}

void HeddleFlows::add_control(Nanos at, const View& view, size_t packet_bytes) {
  control_.add_packet(at, packet_bytes);
  track(view, false, control_);
  if (view.frames == FramesView::kCut) ++counts_.cut;
  Connection* const connection = connection_of(view.connection);
  if (connection == nullptr) return;
  connection->sent_control = true;
  if (view.frames == FramesView::kOpaque) connection->is_protected = true;
  // What is encrypted may look like a frame.
  if (connection->is_protected && view.frames != FramesView::kCut) {
    ++counts_.opaque_control;
  } else if (view.message) {
    add_small_message(view);
  }
}

void HeddleFlows::add_small_message(const View& view) {
  const uint64_t bytes = view.message->bytes;
  const MessageName name{view.connection, view.message->channel, view.message->sequence};
  const auto packets = messages_.add(name, {0, bytes, bytes});
  if (packets) control_.add_message(bytes, *packets);
}

void HeddleFlows::finish(CaptureSizes& sizes) {
  for (const auto& [wire_id, connection] : connections_) {
    ++counts_.connections;
    if (connection.is_protected) ++counts_.protected_connections;
    if (connection.sent_data) ++data_.counts().flows;
    if (connection.sent_control) ++control_.counts().flows;
    if (connection.in_handshake) ++handshake_.counts().flows;
    if (connection.sent_parity) ++parity_.counts().flows;
  }
  data_.counts().incomplete_messages += messages_.incomplete();
  // Data and control share the numbers of a path, so which of them a missing one was is unknown.
  TrafficCounter& of = data_.counts().packets > 0 ? data_ : control_;
  for (const auto& [name, path] : paths_) of.add_gaps(path.numbers);
  for (const TrafficCounter* each : {&data_, &control_, &handshake_, &parity_}) {
    if (each->counts().packets > 0) sizes.classes.push_back(each->counts());
  }
  sizes.heddle = counts_;
}

}  // namespace heddle::recordings
