// See raw_xdp.h.
#include "bench/p2p/raw_xdp.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "datapath/udp/socket_address.h"
#include "datapath/xdp/placing.h"
#include "datapath/xdp/routes.h"

namespace heddle::bench {

using datapath::ChecksumSum;
using datapath::DatagramFields;
using datapath::FrameFault;
using datapath::PacketPieces;
using datapath::ParsedFrame;
using datapath::XdpDescriptor;
using datapath::XdpSocket;

namespace {

constexpr uint32_t kBurstBytes = 64000;
constexpr uint32_t kMaxSegments = 64;
constexpr Nanos kPatience = millis(200);
constexpr size_t kMaxRounds = 4u << 20;

transport::Address address_of(const RawSocket& control, bool own) {
  sockaddr_storage raw{};
  socklen_t length = sizeof raw;
  auto* address = reinterpret_cast<sockaddr*>(&raw);
  own ? getsockname(control.get(), address, &length) : getpeername(control.get(), address, &length);
  return datapath::from_socket_address(&raw);
}

double half_us(const std::vector<uint32_t>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))] / 2e3;
}

}  // namespace

Result<std::unique_ptr<RawXdp>> RawXdp::open(const RawSocket& control, uint16_t port,
                                             uint32_t mtu_bytes) {
  std::unique_ptr<RawXdp> made(new RawXdp());
  if (auto opened = made->netlink_.open(); !opened) return fail(opened.error());
  made->local_ = address_of(control, true);
  made->local_.port = port;
  const datapath::XdpOptions options;
  auto attached =
      datapath::XdpAttachment::open(options, {.local = made->local_, .mtu_bytes = mtu_bytes});
  if (!attached) return fail(attached.error());
  made->attachment_ = std::move(*attached);
  return made;
}

Result<void> RawXdp::connect(const RawSocket& control, uint16_t port) {
  const datapath::XdpInterface& interface = attachment_->interface();
  datapath::RouteInterface route;
  route.index = interface.addressed;
  route.local = local_;
  route.mac = interface.mac;
  route.tags = interface.tags;
  route.tag_count = interface.tag_count;
  datapath::RouteCache routes(netlink_, route);
  const datapath::FrameTemplate* frame = routes.find(address_of(control, false), raw_now());
  if (frame == nullptr) {
    return fail(ErrorCode::kUnavailable, "cannot reach the peer over XDP sockets",
                "the route is not direct, or its neighbor is not resolved", "ping it first");
  }
  frame_ = *frame;
  peer_port_ = port;
  return {};
}

// Writes one datagram straight into as many frames as it needs. False: no room.
bool RawXdp::write(std::span<const std::byte> header, std::span<const std::byte> payload) {
  XdpSocket& to = socket();
  const uint32_t frame_bytes = to.layout().frame_bytes;
  const auto total = static_cast<uint32_t>(frame_.header_bytes + header.size() + payload.size());
  const uint32_t frames = (total + frame_bytes - 1) / frame_bytes;
  if (!to.has_room(frames)) return false;
  DatagramFields fields;
  fields.from_port = local_.port;
  fields.to_port = peer_port_;
  fields.payload_bytes = static_cast<uint32_t>(header.size() + payload.size());
  std::array<uint64_t, PacketPieces::kMost> addresses{};
  ChecksumSum sum;
  sum.add(header);
  sum.add(payload);
  for (uint32_t i = 0; i < frames; ++i) {
    addresses[i] = to.take_frame();
    std::byte* at = to.memory() + addresses[i];
    uint32_t used = 0;
    if (i == 0) {
      write_frame_headers(frame_, fields, sum, at);
      std::memcpy(at + frame_.header_bytes, header.data(), header.size());
      used = static_cast<uint32_t>(frame_.header_bytes + header.size());
    }
    const size_t part = std::min<size_t>(payload.size(), frame_bytes - used);
    if (part > 0) std::memcpy(at + used, payload.data(), part);
    payload = payload.subspan(part);
    to.put({addresses[i], static_cast<uint32_t>(used + part),
            i + 1 < frames ? XdpDescriptor::kContinued : 0});
  }
  return true;
}

template <typename Take>
uint32_t RawXdp::receive(Take take) {
  XdpSocket& from = socket();
  const uint32_t available = from.received();
  uint32_t taken = 0;
  uint32_t datagrams = 0;
  while (taken < available) {
    const XdpDescriptor& first = from.received_at(taken);
    uint32_t bytes = 0;
    uint32_t frames = 0;
    do {
      bytes += from.received_at(taken + frames).bytes;
    } while ((from.received_at(taken + frames++).options & XdpDescriptor::kContinued) != 0);
    ParsedFrame parsed;
    const FrameFault fault =
        parse_frame({from.memory() + first.address, first.bytes}, bytes, local_.port, 0, parsed);
    if (fault == FrameFault::kNone) {
      PacketPieces datagram;
      ChecksumSum sum = parsed.header_sum;
      uint32_t skip = parsed.payload_at;
      for (uint32_t i = 0; i < frames; ++i, skip = 0) {
        const XdpDescriptor& entry = from.received_at(taken + i);
        datagram.add({from.memory() + entry.address + skip, entry.bytes - skip});
        if (!parsed.checked) sum.add(datagram.pieces[i]);
      }
      if (parsed.checked || ParsedFrame::holds(sum)) {
        take(datagram);
        ++datagrams;
      }
    }
    taken += frames;
  }
  if (taken > 0) from.give_back(taken);
  return datagrams;
}

RawSent RawXdp::send_bandwidth(const RawRequest& request) {
  const uint32_t segments = std::clamp(kBurstBytes / request.datagram_bytes, 1u, kMaxSegments);
  const uint32_t step = request.datagram_bytes - static_cast<uint32_t>(sizeof(RawHeader));
  const uint64_t memory = uint64_t{request.memory_mebibytes} << 20;
  const std::vector<std::byte> source(memory, std::byte{0x5a});
  RawSent counts;
  RawHeader header;
  uint64_t offset = 0;
  const uint64_t cpu = thread_cpu_nanos();
  const Nanos start = raw_now();
  const Nanos end = start + seconds(request.seconds);
  Nanos now = start;
  for (; now < end; now = raw_now()) {
    for (uint32_t i = 0; i < segments; ++i) {
      header.offset = offset;
      ++header.number;
      if (!write(std::as_bytes(std::span(&header, 1)), std::span(source).subspan(offset, step))) {
        ++counts.refused_calls;
        break;
      }
      counts.payload_bytes += step;
      offset = offset + 2 * uint64_t{step} <= memory ? offset + step : 0;
    }
    static_cast<void>(socket().submit(counts.calls));
  }
  counts.nanos = static_cast<uint64_t>((now - start).count);
  counts.cpu_nanos = thread_cpu_nanos() - cpu;
  return counts;
}

RawReceived RawXdp::receive_bandwidth(const RawRequest& request, const RawSocket& control) {
  const uint64_t memory = uint64_t{request.memory_mebibytes} << 20;
  std::vector<std::byte> target(memory + request.datagram_bytes);
  RawReceived counts;
  Nanos first;
  const uint64_t cpu = thread_cpu_nanos();
  uint32_t idle = 0;
  while (true) {
    const uint32_t got = receive([&](const PacketPieces& datagram) {
      RawHeader header;
      if (datagram.bytes < sizeof header) return;
      datagram.copy(0, sizeof header, reinterpret_cast<std::byte*>(&header));
      const auto payload = static_cast<uint32_t>(datagram.bytes - sizeof header);
      if (header.offset >= memory || payload > request.datagram_bytes) return;
      datagram.copy(sizeof header, payload, target.data() + header.offset);
      counts.payload_bytes += payload;
    });
    if (got == 0) {
      if ((++idle & 1023) == 0 && has_input(control)) break;
      continue;
    }
    idle = 0;
    const Nanos now = raw_now();
    if (counts.datagrams == 0) first = now;
    counts.datagrams += got;
    ++counts.calls;
    counts.nanos = static_cast<uint64_t>((now - first).count);
  }
  counts.dropped = socket().dropped();
  counts.cpu_nanos = thread_cpu_nanos() - cpu;
  return counts;
}

// False if nothing arrives within kPatience.
bool RawXdp::await_message() {
  Nanos give_up;
  for (uint32_t tries = 0;; ++tries) {
    if (receive([](const PacketPieces&) {}) > 0) return true;
    if (tries == 0) {
      give_up = raw_now() + kPatience;
    } else if (tries % 256 == 0 && raw_now() > give_up) {
      return false;
    }
  }
}

RawLatency RawXdp::ping(const RawRequest& request) {
  const std::vector<std::byte> message(request.message_bytes);
  std::vector<uint32_t> rounds;
  rounds.reserve(kMaxRounds);
  RawLatency result;
  const Nanos warm = raw_now() + millis(100);
  const Nanos end = warm + seconds(request.seconds);
  double sum = 0;
  while (rounds.size() < kMaxRounds) {
    const Nanos start = raw_now();
    if (start > end) break;
    const bool sent = write(message, {}) && socket().submit(calls_) == 0;
    if (!sent || !await_message()) {
      ++result.lost;
      continue;
    }
    const Nanos took = raw_now() - start;
    if (start <= warm) continue;
    rounds.push_back(static_cast<uint32_t>(took.count));
    sum += static_cast<double>(took.count);
  }
  result.rounds = rounds.size();
  if (rounds.empty()) return result;
  std::sort(rounds.begin(), rounds.end());
  result.min_us = half_us(rounds, 0);
  result.p50_us = half_us(rounds, 0.5);
  result.p99_us = half_us(rounds, 0.99);
  result.p999_us = half_us(rounds, 0.999);
  result.mean_us = sum / static_cast<double>(rounds.size()) / 2e3;
  return result;
}

void RawXdp::pong(const RawRequest& request, const RawSocket& control) {
  const std::vector<std::byte> message(request.message_bytes);
  while (true) {
    if (!await_message()) {
      if (has_input(control)) return;
      continue;
    }
    if (write(message, {})) static_cast<void>(socket().submit(calls_));
  }
}

}  // namespace heddle::bench
