// See heddle_flows.h.
#include "recordings/capture/heddle_flows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "recordings/params.h"

namespace heddle::recordings {
namespace {

using transport::FramesView;
using transport::kViewedDataHeaderBytes;
using transport::kViewedTagBytes;
using transport::PacketKind;

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

// Greetings of UD queue pairs (protocol.md has their layout).
constexpr std::byte kGreetingFirst{0x2c};
constexpr std::byte kGreetingFormat{1};
constexpr size_t kGreetingBytes = 24;

bool begins_greeting(std::span<const std::byte> packet) {
  return packet.size() >= 2 && packet[0] == kGreetingFirst && packet[1] == kGreetingFormat;
}

bool is_greeting(std::span<const std::byte> packet, size_t packet_bytes) {
  if (packet_bytes != kGreetingBytes || packet.size() != packet_bytes) return false;
  const auto at = [&](size_t byte) { return static_cast<uint8_t>(packet[byte]); };
  return at(2) >= 1 && at(2) <= 3 && at(3) >= 1 && at(3) <= 5 && (at(4) | at(5)) != 0 &&
         (at(6) | at(7) | at(11)) == 0 && at(15) < 0x80;
}

// Whether what a data packet carries, `bytes` at least, fits into its message, with a tag at most.
bool fits(const transport::PacketView& view, uint64_t bytes) {
  return uint64_t{view.offset} + bytes <= uint64_t{view.message_bytes} + kViewedTagBytes;
}

}  // namespace

bool HeddleFlows::is_ours(const View& view, uint16_t port, uint64_t carried_bytes) const {
  if (ports_.contains(port)) return true;
  switch (view.kind) {
    case PacketKind::kHandshake:
      return true;
    case PacketKind::kReset:  // it has no field that could be implausible
      return connections_.contains(view.connection);
    case PacketKind::kData:
      return fits(view, carried_bytes) || connections_.contains(view.connection);
    case PacketKind::kControl:
      return view.frames == FramesView::kRead || connections_.contains(view.connection);
  }
  return false;
}

bool HeddleFlows::add(Nanos at, const UdpDatagram& datagram) {
  const bool named = ports_.contains(datagram.to_port);
  const std::span<const std::byte> captured = datagram.payload;
  if (is_parity(captured)) return add_parity(at, datagram);
  if (begins_greeting(captured)) return add_greeting(at, datagram);
  const size_t bytes = datagram.payload_bytes;
  // The first packet must be plausible; what an offload merged with it is of the same connection.
  const size_t stride = transport::merged_stride(captured);
  const auto view = stride == 0 ? transport::view_packet(captured, bytes)
                                : transport::view_packet(captured.first(stride), stride);
  const uint64_t most = stride == 0 ? most_packets(bytes, captured.size()) : 1;
  const auto carried = [&] {
    return most > 1 ? least_carried(captured.size()) : view->carried_bytes;
  };
  if (!view || !is_ours(*view, datagram.to_port, carried())) {
    if (!named) return false;
    ++counts_.packets;
    ++(captured.size() < bytes ? counts_.unread : counts_.malformed);
    return true;
  }
  if (datagram.marked) ++counts_.marked;
  if (stride != 0) {
    add_merged(at, datagram, stride);
    return true;
  }
  ++counts_.packets;
  add_packet({at, *view, bytes, most > 1 ? Length::kNotKnown : Length::kProven, most});
  return true;
}

void HeddleFlows::add_merged(Nanos at, const UdpDatagram& datagram, size_t stride) {
  ++counts_.merged;
  std::span<const std::byte> captured = datagram.payload;
  std::optional<Packet> last;
  uint64_t unread = 0;
  for (size_t left = datagram.payload_bytes; left > 0;) {
    const size_t bytes = std::min(stride, left);
    const auto part = captured.first(std::min(bytes, captured.size()));
    ++counts_.packets;
    if (const auto next = transport::view_packet(part, bytes)) {
      last = Packet{.at = at, .view = *next, .bytes = bytes};
      add_packet(*last);
    } else if (last && part.size() < bytes) {
      add_unread(*last, bytes);
      ++unread;
    }
    captured = captured.subspan(part.size());
    left -= bytes;
  }
  if (unread == 0) return;
  ++class_of(last->view).counts().datagrams_not_known;
  if (Path* const path = path_of(last->view)) path->may_skip = unread;
}

// A packet behind the last one that was read: of the same path, but without a header.
void HeddleFlows::add_unread(const Packet& last, size_t bytes) {
  ++counts_.unread;
  if (connections_.contains(last.view.connection)) messages_.doubt(last.view.connection);
  const size_t header = transport::kViewedDataHeaderBytes;
  const bool data = last.view.kind == PacketKind::kData;
  class_of(last.view).add_uncounted(last.at, data ? bytes - std::min(bytes, header) : bytes);
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

// By its port or form heddle's.
bool HeddleFlows::add_greeting(Nanos at, const UdpDatagram& datagram) {
  const bool cut = datagram.payload.size() < datagram.payload_bytes;
  const bool whole = is_greeting(datagram.payload, datagram.payload_bytes);
  if (!whole && !ports_.contains(datagram.to_port)) return false;
  ++counts_.packets;
  if (!whole) {
    ++(cut ? counts_.unread : counts_.malformed);
    return true;
  }
  if (datagram.marked) ++counts_.marked;
  handshake_.add_packet(at, datagram.payload_bytes);
  return true;
}

void HeddleFlows::add_packet(const Packet& packet) {
  const bool numbered = packet.view.numbered && (packet.view.kind == PacketKind::kData ||
                                                 packet.view.kind == PacketKind::kControl);
  Path* const path = numbered ? path_of(packet.view) : nullptr;
  if (path == nullptr) return count(packet);
  // No honest sender is farther ahead: the packet's number counts for nothing.
  const NumberTrack& numbers = path->numbers;
  if (numbers.begun() && packet.view.number > numbers.highest() + kMostAhead) return count(packet);
  settle(*path, packet.view.number);
  const bool newest = !numbers.begun() || packet.view.number > numbers.highest();
  track(*path, packet.view);
  if (packet.length != Length::kNotKnown || !newest) return count(packet);
  path->cut = packet;
}

// Counts the cut datagram of the path, once a later number was seen.
void HeddleFlows::settle(Path& path, uint64_t number) {
  if (!path.cut || number <= path.cut->view.number) return;
  Packet packet = *std::exchange(path.cut, std::nullopt);
  if (number == packet.view.number + 1 && packet.bytes <= params::capture::kLargestPacket) {
    packet.length = Length::kProven;
  }
  count(packet);
  const auto at = connections_.find(packet.view.connection);
  const bool one = at != connections_.end() && at->second.lengths.contains(packet.bytes);
  path.may_skip = one ? 0 : packet.most_packets - 1;
}

void HeddleFlows::count(const Packet& packet) {
  switch (packet.view.kind) {
    case PacketKind::kData:
      return add_data(packet);
    case PacketKind::kControl:
      return add_control(packet);
    case PacketKind::kHandshake:
    case PacketKind::kReset:
      handshake_.add_packet(packet.at, packet.bytes);
      return add_handshake(packet.view);
  }
}

HeddleFlows::Connection* HeddleFlows::connection_of(uint64_t wire_id) {
  if (const auto at = connections_.find(wire_id); at != connections_.end()) return &at->second;
  if (connections_.size() < params::capture::kMostConnections) return &connections_[wire_id];
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

HeddleFlows::Path* HeddleFlows::path_of(const View& view) {
  const PathName name{view.connection, view.path};
  if (const auto at = paths_.find(name); at != paths_.end()) return &at->second;
  if (paths_.size() < params::capture::kMostPaths) return &paths_[name];
  ++counts_.not_followed;
  return nullptr;
}

void HeddleFlows::track(Path& path, const View& view) {
  const uint64_t highest = path.numbers.highest();
  if (path.numbers.begun() && view.number > highest) {
    path.numbers.skip(std::min(path.may_skip, view.number - highest - 1));
    path.may_skip = 0;
  }
  if (path.numbers.see(view.number) == Arrival::kLate) ++class_of(view).counts().late_packets;
}

// Where no handshake was seen, a tag shows where a message ends, and where a packet follows another
// of its message. Only lengths that are proven count.
void HeddleFlows::learn_keys(Connection& connection, const Packet& packet) {
  if (connection.in_handshake) return;
  const View& view = packet.view;
  const View& before = connection.before;
  const bool proven = packet.length == Length::kProven;
  const bool over = proven && uint64_t{view.offset} + view.carried_bytes > view.message_bytes;
  const bool follows =
      before.message_bytes == view.message_bytes && before.sequence == view.sequence &&
      before.channel == view.channel && before.path == view.path &&
      before.number + 1 == view.number &&
      uint64_t{before.offset} + before.carried_bytes == uint64_t{view.offset} + kViewedTagBytes &&
      view.offset > before.offset;
  connection.before = proven ? view : View{};
  if (!over && !follows) return;
  connection.is_protected = true;
  connection.tag_bytes = kViewedTagBytes;
}

// Whether the packet has the length of its datagram.
bool HeddleFlows::add_sized(const Packet& packet, Connection* connection, uint64_t bytes) {
  bool known = packet.length == Length::kProven;
  if (connection != nullptr) {
    if (known) connection->lengths.add(packet.bytes);
    known = known || connection->lengths.contains(packet.bytes);
  }
  TrafficCounter& of = class_of(packet.view);
  if (known) {
    of.add_packet(packet.at, bytes);
    return true;
  }
  of.add_uncounted(packet.at, bytes);
  ++of.counts().datagrams_not_known;
  ++(packet.bytes > params::capture::kLargestPacket ? counts_.merged_and_cut : counts_.not_known);
  if (packet.view.numbered && connection != nullptr) messages_.doubt(packet.view.connection);
  return false;
}

void HeddleFlows::add_data(const Packet& packet) {
  const View& view = packet.view;
  Connection* const connection = connection_of(view.connection);
  if (connection != nullptr) learn_keys(*connection, packet);
  const uint64_t tag_bytes = connection == nullptr ? 0 : connection->tag_bytes;
  const uint64_t payload = view.carried_bytes - std::min<uint64_t>(tag_bytes, view.carried_bytes);
  const bool known = add_sized(packet, connection, payload);
  if (view.retransmission) ++data_.counts().repeated_packets;
  if (connection == nullptr) return;
  connection->sent_data = true;
  add_segment({view.connection, view.channel, view.sequence},
              {view.offset, view.offset + payload, view.message_bytes, known}, data_);
}

void HeddleFlows::add_segment(const MessageName& name, const MessageSegment& segment,
                              TrafficCounter& of) {
  const auto covered = messages_.add(name, segment);
  if (!covered) return;
  if (covered->is_known) {
    of.add_message(segment.message_bytes, covered->packets);
  } else {
    of.add_message_in_doubt(segment.message_bytes);
  }
}

void HeddleFlows::add_control(const Packet& packet) {
  const View& view = packet.view;
  Connection* const connection = connection_of(view.connection);
  add_sized(packet, connection, packet.bytes);
  if (view.frames == FramesView::kCut) ++counts_.cut;
  if (connection == nullptr) return;
  connection->sent_control = true;
  if (view.frames == FramesView::kCut) return;
  if (view.frames == FramesView::kOpaque && !connection->is_protected) {
    if (connection->in_handshake) {  // without keys
      ++counts_.malformed;
      return;
    }
    connection->is_protected = true;
  }
  // What is encrypted may look like a frame.
  if (connection->is_protected) {
    ++counts_.opaque_control;
  } else if (view.message) {
    const uint64_t bytes = view.message->bytes;
    add_segment({view.connection, view.message->channel, view.message->sequence},
                {.offset = 0, .end = bytes, .message_bytes = bytes}, control_);
  }
}

void HeddleFlows::finish(CaptureSizes& sizes) {
  for (auto& [name, path] : paths_) settle(path, UINT64_MAX);
  for (const auto& [wire_id, connection] : connections_) {
    ++counts_.connections;
    if (connection.is_protected) ++counts_.protected_connections;
    if (connection.sent_data) ++data_.counts().flows;
    if (connection.sent_control) ++control_.counts().flows;
    if (connection.in_handshake) ++handshake_.counts().flows;
    if (connection.sent_parity) ++parity_.counts().flows;
  }
  data_.counts().incomplete_messages += messages_.incomplete();
  data_.counts().messages_not_known += messages_.not_known();
  // Data and control share the numbers of a path, so which of them a missing one was is unknown.
  TrafficCounter& of = data_.counts().packets > 0 ? data_ : control_;
  for (const auto& [name, path] : paths_) {
    of.add_gaps(path.numbers);
    of.counts().packets_not_known += path.numbers.skipped();
  }
  for (const TrafficCounter* each : {&data_, &control_, &handshake_, &parity_}) {
    if (each->counts().packets > 0) sizes.classes.push_back(each->counts());
  }
  sizes.heddle = counts_;
}

}  // namespace heddle::recordings
