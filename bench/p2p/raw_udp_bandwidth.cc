// The bandwidth test: sendmsg with UDP_SEGMENT sends as many segments as fit; recvmsg with UDP_GRO
// receives as many as arrived together.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "bench/p2p/raw_udp_parts.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kMaxRowBytes = 64000;
constexpr uint32_t kMaxSegments = 64;
constexpr uint32_t kReceiveBytes = 65536;

uint32_t segments_a_call(uint32_t datagram_bytes) {
  return std::clamp(kMaxRowBytes / datagram_bytes, 1u, kMaxSegments);
}

// Receives GRO batches into a staging buffer, or scattered over header slots and the predicted
// placement.
class Receiver {
 public:
  Receiver(const RawSocket& udp, const RawRequest& request)
      : udp_(udp),
        request_(request),
        step_(request.datagram_bytes - sizeof(RawHeader)),
        segments_(kReceiveBytes / request.datagram_bytes + 1),
        memory_(uint64_t{request.memory_mebibytes} << 20),
        target_(memory_ + kReceiveBytes),
        staging_(kReceiveBytes),
        headers_(segments_),
        vectors_(2 * segments_ + 1) {}

  // Returns false when no datagram is waiting.
  bool turn() {
    lay_out();
    msghdr message{};
    message.msg_name = &from_;
    message.msg_namelen = sizeof from_;
    message.msg_iov = vectors_.data();
    message.msg_iovlen = vectors_used_;
    message.msg_control = control_.data();
    message.msg_controllen = control_.size();
    const ssize_t got = recvmsg(udp_.get(), &message, request_.sleep != 0 ? 0 : MSG_DONTWAIT);
    if (got <= 0) return false;
    const Nanos now = raw_now();
    if (counts_.calls++ == 0) first_ = now;
    counts_.nanos = static_cast<uint64_t>((now - first_).count);
    take(message, static_cast<uint32_t>(got));
    return true;
  }

  const RawReceived& counts() const { return counts_; }

 private:
  void lay_out() {
    if (request_.placing == RawPlacing::kCopy) {
      vectors_[0] = {staging_.data(), staging_.size()};
      vectors_used_ = 1;
      return;
    }
    std::byte* place = target_.data() + next_;
    for (uint32_t i = 0; i < segments_; ++i) {
      vectors_[size_t{2} * i] = {&headers_[i], sizeof(RawHeader)};
      vectors_[size_t{2} * i + 1] = {place + size_t{i} * step_, step_};
    }
    vectors_used_ = size_t{2} * segments_;
  }

  void take(msghdr& message, uint32_t bytes) {
    uint32_t datagram = bytes;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
      int step = 0;
      std::memcpy(&step, CMSG_DATA(c), sizeof step);
      datagram = static_cast<uint32_t>(step);
    }
    const uint32_t count = (bytes + datagram - 1) / datagram;
    counts_.datagrams += count;
    counts_.payload_bytes += bytes - count * sizeof(RawHeader);
    if (request_.placing == RawPlacing::kCopy) {
      for (uint32_t i = 0; i < count; ++i)
        copy(staging_.data() + size_t{i} * datagram, i, datagram, bytes);
      return;
    }
    const uint64_t offset = headers_[0].offset;
    const uint32_t payload = bytes - count * static_cast<uint32_t>(sizeof(RawHeader));
    if (offset == next_) {
      counts_.in_place_bytes += payload;
    } else if (offset < memory_) {
      std::memmove(target_.data() + offset, target_.data() + next_, payload);
    }
    next_ = offset + payload < memory_ ? offset + payload : 0;
  }

  void copy(const std::byte* segment, uint32_t index, uint32_t datagram, uint32_t bytes) {
    const uint32_t length = std::min(datagram, bytes - index * datagram);
    if (length < sizeof(RawHeader)) return;
    RawHeader header;
    std::memcpy(&header, segment, sizeof header);
    if (header.offset >= memory_) return;
    std::memcpy(target_.data() + header.offset, segment + sizeof header, length - sizeof header);
  }

  const RawSocket& udp_;
  const RawRequest request_;
  const uint32_t step_;
  const uint32_t segments_;
  const uint64_t memory_;
  std::vector<std::byte> target_;
  std::vector<std::byte> staging_;
  std::vector<RawHeader> headers_;
  std::vector<iovec> vectors_;
  size_t vectors_used_ = 0;
  sockaddr_storage from_{};
  alignas(cmsghdr) std::array<std::byte, 128> control_{};
  uint64_t next_ = 0;
  Nanos first_;
  RawReceived counts_;
};

}  // namespace

RawSent send_bandwidth(const RawSocket& udp, const RawRequest& request) {
  const uint32_t segments = segments_a_call(request.datagram_bytes);
  const uint32_t step = request.datagram_bytes - static_cast<uint32_t>(sizeof(RawHeader));
  const uint32_t row = segments * step;
  const uint64_t memory = uint64_t{request.memory_mebibytes} << 20;
  std::vector<std::byte> source(memory, std::byte{0x5a});
  std::vector<RawHeader> headers(segments);
  std::vector<iovec> vectors(size_t{2} * segments);
  const int datagram = static_cast<int>(request.datagram_bytes);
  setsockopt(udp.get(), IPPROTO_UDP, UDP_SEGMENT, &datagram, sizeof datagram);
  RawSent counts;
  uint64_t offset = 0;
  uint64_t number = 0;
  const uint64_t cpu = thread_cpu_nanos();
  const Nanos start = raw_now();
  const Nanos end = start + seconds(request.seconds);
  Nanos now = start;
  for (; now < end; now = raw_now()) {
    for (uint32_t i = 0; i < segments; ++i) {
      headers[i].offset = offset + uint64_t{i} * step;
      headers[i].number = number++;
      vectors[size_t{2} * i] = {&headers[i], sizeof(RawHeader)};
      vectors[size_t{2} * i + 1] = {source.data() + headers[i].offset, step};
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = vectors.size();
    ++counts.calls;
    if (sendmsg(udp.get(), &message, 0) < 0) {
      ++counts.refused_calls;
      continue;
    }
    counts.payload_bytes += row;
    offset = offset + 2 * uint64_t{row} <= memory ? offset + row : 0;
  }
  counts.nanos = static_cast<uint64_t>((now - start).count);
  counts.cpu_nanos = thread_cpu_nanos() - cpu;
  return counts;
}

RawReceived receive_bandwidth(const RawSocket& udp, const RawRequest& request,
                              const RawSocket& control) {
  const int one = 1;
  setsockopt(udp.get(), IPPROTO_UDP, UDP_GRO, &one, sizeof one);
  // A sleeping receiver wakes up periodically, to check whether the sender is done.
  const timeval patience{.tv_sec = 0, .tv_usec = 50'000};
  setsockopt(udp.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Receiver receiver(udp, request);
  const uint64_t cpu = thread_cpu_nanos();
  uint32_t idle = 0;
  while (true) {
    if (receiver.turn()) {
      idle = 0;
    } else if ((++idle & 1023) == 0 || request.sleep != 0) {
      if (has_input(control)) break;
    }
  }
  RawReceived counts = receiver.counts();
  counts.cpu_nanos = thread_cpu_nanos() - cpu;
  return counts;
}

}  // namespace heddle::bench
