// See transmitter.h.
#include "datapath/xdp/transmitter.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::TxBurst;

namespace {

constexpr uint8_t kEct0 = 2;
constexpr size_t kLongestDatagram = 65536;

uint32_t frames_for(uint32_t bytes, uint32_t frame_bytes) {
  return (bytes + frame_bytes - 1) / frame_bytes;
}

void copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

XdpTransmitter::XdpTransmitter(std::span<const std::unique_ptr<XdpSocket>> sockets,
                               XdpTransmitterOptions options, const RegionTable& regions,
                               DatapathStatistics& statistics)
    : sockets_(sockets),
      options_(std::move(options)),
      regions_(regions),
      statistics_(statistics),
      written_(sockets.size(), false) {
  CHECK(!sockets_.empty());
}

bool XdpTransmitter::write(const TxBurst& burst, const FrameTemplate& frame) {
  const size_t index = burst.path % sockets_.size();
  XdpSocket& socket = *sockets_[index];
  const uint32_t largest = frame.header_bytes + burst.datagram_bytes();
  const uint32_t needed = burst.segments * frames_for(largest, socket.layout().frame_bytes);
  // All or nothing: so no segment is ever encrypted twice.
  if (!socket.has_room(needed)) return false;
  const std::byte* payload =
      burst.total_payload() == 0
          ? nullptr
          : regions_.resolve({burst.region, burst.offset, burst.total_payload()});
  DatagramFields fields;
  fields.from_port = options_.source_ports[burst.path];
  fields.to_port = burst.to.port;
  fields.traffic_class =
      static_cast<uint8_t>(options_.traffic_class | (burst.ecn_capable ? kEct0 : 0));
  fields.hop_limit = burst.hop_limit != 0 ? burst.hop_limit : xdp_params::kHopLimit;
  fields.may_fragment = burst.may_fragment;
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const bool last = i + 1 == burst.segments;
    Segment segment;
    segment.header = {burst.headers + size_t{i} * burst.header_bytes, burst.header_bytes};
    if (payload != nullptr) {
      segment.payload = {payload + size_t{i} * burst.payload_bytes,
                         last ? burst.last_payload_bytes : burst.payload_bytes};
    }
    segment.key = burst.key;
    fields.id = id_++;
    write_segment(socket, segment, frame, fields);
  }
  statistics_.datagrams_sent += burst.segments;
  written_[index] = true;
  return true;
}

void XdpTransmitter::write_segment(XdpSocket& socket, const Segment& segment,
                                   const FrameTemplate& frame, DatagramFields fields) {
  const size_t tag = segment.key != nullptr ? transport::kTagBytes : 0;
  const size_t bytes = segment.header.size() + segment.payload.size() + tag;
  fields.payload_bytes = static_cast<uint32_t>(bytes);
  if (frame.header_bytes + bytes > socket.layout().frame_bytes) {
    write_long(socket, segment, frame, fields);
    return;
  }
  const uint64_t address = socket.take_frame();
  std::byte* to = socket.memory() + address + frame.header_bytes;
  if (segment.key != nullptr) {
    transport::encrypt_segment(*segment.key, segment.header, segment.payload, to);
  } else {
    copy(segment.header, to);
    copy(segment.payload, to + segment.header.size());
  }
  ChecksumSum sum;
  sum.add({to, bytes});
  write_frame_headers(frame, fields, sum, socket.memory() + address);
  socket.put({address, static_cast<uint32_t>(frame.header_bytes + bytes), 0});
}

// A datagram that takes several frames; the first begins with the headers.
void XdpTransmitter::write_long(XdpSocket& socket, const Segment& segment,
                                const FrameTemplate& frame, const DatagramFields& fields) {
  std::array<std::span<const std::byte>, 2> parts = {segment.header, segment.payload};
  if (segment.key != nullptr) {
    if (encrypted_.empty()) encrypted_.resize(kLongestDatagram);
    transport::encrypt_segment(*segment.key, segment.header, segment.payload, encrypted_.data());
    parts = {std::span<const std::byte>(encrypted_).first(fields.payload_bytes), {}};
  }
  const uint32_t frame_bytes = socket.layout().frame_bytes;
  uint64_t address = socket.take_frame();
  const uint64_t first = address;
  uint32_t used = frame.header_bytes;
  ChecksumSum sum;
  bool odd = false;
  for (std::span<const std::byte> part : parts) {
    sum.add_part(part, odd);
    while (!part.empty()) {
      if (used == frame_bytes) {
        socket.put({address, used, XdpDescriptor::kContinued});
        address = socket.take_frame();
        used = 0;
      }
      const size_t now = std::min<size_t>(part.size(), frame_bytes - used);
      std::memcpy(socket.memory() + address + used, part.data(), now);
      used += static_cast<uint32_t>(now);
      part = part.subspan(now);
    }
  }
  write_frame_headers(frame, fields, sum, socket.memory() + first);
  socket.put({address, used, 0});
}

// Full queues and missing memory pass by themselves: the frames stay in the ring.
bool XdpTransmitter::worth_reporting(int error) {
  return error != 0 && error != EAGAIN && error != EBUSY && error != ENOBUFS && error != ENOMEM;
}

int XdpTransmitter::flush() {
  int worst = 0;
  for (size_t i = 0; i < sockets_.size(); ++i) {
    if (!written_[i]) continue;
    written_[i] = false;
    const int error = sockets_[i]->submit(statistics_.transmit_calls);
    if (worth_reporting(error)) worst = error;
  }
  return worst;
}

int XdpTransmitter::push() {
  int worst = 0;
  for (const auto& socket : sockets_) {
    if (!socket->unfinished()) continue;
    const int error = socket->push(statistics_.transmit_calls);
    if (worth_reporting(error)) worst = error;
  }
  return worst;
}

bool XdpTransmitter::unfinished() const {
  return std::any_of(sockets_.begin(), sockets_.end(),
                     [](const auto& socket) { return socket->unfinished(); });
}

}  // namespace heddle::datapath
