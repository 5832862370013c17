// Sender: see sender.h. Per burst one sendmsg with UDP_SEGMENT, or one sendmmsg of single
// datagrams.
#include "datapath/udp/sender.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/resolve.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/params.h"

namespace heddle::datapath {

using transport::kMaxBurstSegments;
using transport::NetworkErrorKind;
using transport::TxBurst;

namespace {

// Upper bound of one call: the UDP payload of an IPv4 packet.
constexpr uint32_t kMaxRowBytes = 65507;
// Room for an encrypted burst of any segment size.
constexpr size_t kEncryptedBytes =
    size_t{transport::kMaxBurstBytes} + transport::TxBatch::kLargestPacket;

uint32_t row_bytes(const TxBurst& burst) {
  return static_cast<uint32_t>(uint64_t{burst.segments} * (burst.header_bytes + burst.tag_bytes()) +
                               burst.total_payload());
}

}  // namespace

struct Sender::Scratch {
  std::array<iovec, size_t{2} * kMaxBurstSegments> vectors{};
  std::array<mmsghdr, kMaxBurstSegments> messages{};
  alignas(cmsghdr) std::array<std::byte, 96> control{};
  size_t control_bytes = 0;
  size_t vectors_used = 0;
  size_t vectors_a_segment = 1;
  const SocketAddress* to = nullptr;
  CallWords words;

  template <typename Value>
  void add_control(int level, int type, Value value) {
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(sizeof value);
    header.cmsg_level = level;
    header.cmsg_type = type;
    std::memcpy(control.data() + control_bytes, &header, sizeof header);
    std::memcpy(control.data() + control_bytes + CMSG_LEN(0), &value, sizeof value);
    control_bytes += CMSG_SPACE(sizeof value);
  }

  void fill(msghdr& message, iovec* first, size_t count) {
    message.msg_name = words.destination ? const_cast<std::byte*>(to->bytes.data()) : nullptr;
    message.msg_namelen = words.destination ? to->length : 0;
    message.msg_iov = first;
    message.msg_iovlen = count;
    message.msg_control = control_bytes > 0 ? control.data() : nullptr;
    message.msg_controllen = control_bytes;
    message.msg_flags = 0;
  }

  // One message per segment.
  void fill_each(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      fill(messages[i].msg_hdr, vectors.data() + i * vectors_a_segment, vectors_a_segment);
    }
  }
};

Sender::Sender(std::vector<Socket> sockets, const SenderOptions& options,
               const RegionTable& regions, NetworkErrors& errors, DatapathStatistics& statistics)
    : options_(options),
      regions_(regions),
      errors_(errors),
      statistics_(statistics),
      scratch_(std::make_unique<Scratch>()) {
  CHECK(!options_.nics.empty());
  paths_ = sockets.size() / options_.nics.size();
  sockets_.reserve(sockets.size());
  for (Socket& socket : sockets) {
    sockets_.emplace_back(std::move(socket), options_.nics[sockets_.size() / paths_].family,
                          options_.traffic_class);
  }
}

Sender::~Sender() = default;

void Sender::limit_datagrams(uint32_t bytes) {
  for (SenderNic& nic : options_.nics) {
    nic.max_datagram_bytes = std::min(nic.max_datagram_bytes, bytes);
  }
}

size_t Sender::transmit(std::span<const TxBurst> bursts) {
  refusal_ = Refusal::kNone;
  unsent_.clear();
  size_t taken = 0;
  for (const TxBurst& burst : bursts) {
    gone_ = 0;
    if (send(burst) == Verdict::kRefused) {
      ++statistics_.transmit_refused;
      break;
    }
    ++taken;
    if (gone_ == 0) continue;
    unsent_.resize(taken);
    unsent_.back() = gone_;
  }
  return taken;
}

Sender::Verdict Sender::send(const TxBurst& burst) {
  CHECK(burst.path < paths_ && burst.nic < options_.nics.size());
  CHECK(burst.segments >= 1 && burst.segments <= kMaxBurstSegments);
  if (!prepare(burst)) {
    gone_ = burst.segments;
    return Verdict::kTaken;
  }
  const uint32_t first = partial_.segments_sent == 0 ? 0 : resume(burst);
  const bool whole = burst.segments == 1 || (options_.segments && row_bytes(burst) <= kMaxRowBytes);
  return whole && first == 0 ? send_row(burst) : send_one_by_one(burst, first);
}

// Checks and prepares a burst; false: it can never be sent, and the error was reported.
bool Sender::prepare(const TxBurst& burst) {
  const uint32_t datagram = burst.datagram_bytes();
  const uint32_t most = options_.nics[burst.nic].max_datagram_bytes;
  if (!burst.may_fragment && datagram > most) {
    report(burst, NetworkErrorKind::kTooLarge, most);
    return false;
  }
  PathSocket& path = sockets_[socket_of(burst)];
  // Below udp_params::kNeverCutBytes the fragmentation setting is irrelevant and stays unchanged.
  const Manner manner{.may_fragment = burst.may_fragment && datagram > udp_params::kNeverCutBytes,
                      .ecn_capable = burst.ecn_capable};
  if (!path.prepare(burst.to, manner, scratch_->words)) {
    report(burst, NetworkErrorKind::kUnreachable, 0);
    return false;
  }
  scratch_->to = &path.destination();
  return true;
}

// Gathers header and payload of every segment from `first` on.
void Sender::gather(const TxBurst& burst, uint32_t first) {
  Scratch& s = *scratch_;
  const auto* headers = reinterpret_cast<const char*>(burst.headers);
  iovec* out = s.vectors.data();
  if (burst.key != nullptr) {
    gather_encrypted(burst, first);
    return;
  }
  if (burst.total_payload() == 0) {
    s.vectors_a_segment = 1;
    for (uint32_t i = first; i < burst.segments; ++i) {
      *out++ = {const_cast<char*>(headers) + size_t{i} * burst.header_bytes, burst.header_bytes};
    }
  } else {
    s.vectors_a_segment = 2;
    std::byte* payload = regions_.resolve({burst.region, burst.offset, burst.total_payload()});
    for (uint32_t i = first; i < burst.segments; ++i) {
      const bool last = i + 1 == burst.segments;
      *out++ = {const_cast<char*>(headers) + size_t{i} * burst.header_bytes, burst.header_bytes};
      *out++ = {payload + size_t{i} * burst.payload_bytes,
                last ? burst.last_payload_bytes : burst.payload_bytes};
    }
  }
  s.vectors_used = static_cast<size_t>(out - s.vectors.data());
}

// Encrypts every segment from `first` on, contiguously. Segments that have left are not encrypted
// again: a nonce must never protect two different contents.
void Sender::gather_encrypted(const TxBurst& burst, uint32_t first) {
  Scratch& s = *scratch_;
  if (encrypted_.empty()) encrypted_.resize(kEncryptedBytes);
  const uint32_t step = burst.datagram_bytes();
  CHECK(size_t{step} * (burst.segments - first) <= encrypted_.size());
  const std::byte* payload =
      burst.total_payload() == 0
          ? nullptr
          : regions_.resolve({burst.region, burst.offset, burst.total_payload()});
  s.vectors_a_segment = 1;
  s.vectors_used = burst.segments - first;
  std::byte* to = encrypted_.data();
  for (uint32_t i = first; i < burst.segments; ++i, to += step) {
    const bool last = i + 1 == burst.segments;
    const uint32_t bytes = last ? burst.last_payload_bytes : burst.payload_bytes;
    const std::byte* from = bytes > 0 ? payload + size_t{i} * burst.payload_bytes : nullptr;
    transport::encrypt_segment(*burst.key,
                               {burst.headers + size_t{i} * burst.header_bytes, burst.header_bytes},
                               {from, bytes}, to);
    s.vectors[i - first] = {to, burst.header_bytes + bytes + transport::kTagBytes};
  }
}

void Sender::write_control(const TxBurst& burst, bool row) {
  Scratch& s = *scratch_;
  s.control_bytes = 0;
  if (row) s.add_control(IPPROTO_UDP, UDP_SEGMENT, static_cast<uint16_t>(burst.datagram_bytes()));
  const PathSocket& path = sockets_[socket_of(burst)];
  const bool four = path.destination_is_ipv4();
  if (burst.hop_limit != 0) {
    const int limit = burst.hop_limit;
    s.add_control(four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_TTL : IPV6_HOPLIMIT, limit);
  }
  if (!s.words.mark) return;
  const int mark = path.mark(burst.ecn_capable);
  if (four) {
    s.add_control(IPPROTO_IP, IP_TOS, mark);
  } else {
    s.add_control(IPPROTO_IPV6, IPV6_TCLASS, mark);
  }
}

// Sends the whole burst in one call.
Sender::Verdict Sender::send_row(const TxBurst& burst) {
  const bool row = burst.segments > 1;
  gather(burst, 0);
  write_control(burst, row);
  msghdr& message = scratch_->messages[0].msg_hdr;
  scratch_->fill(message, scratch_->vectors.data(), scratch_->vectors_used);
  const int descriptor = sockets_[socket_of(burst)].descriptor();
  for (int attempt = 1;; ++attempt) {
    ++statistics_.transmit_calls;
    if (sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      statistics_.datagrams_sent += burst.segments;
      return Verdict::kTaken;
    }
    switch (judge(errno, burst, row, attempt)) {
      case Advice::kAgain:
        scratch_->fill(message, scratch_->vectors.data(), scratch_->vectors_used);
        continue;
      case Advice::kOneByOne:
        return send_one_by_one(burst, 0);
      case Advice::kRefused:
        return Verdict::kRefused;
      case Advice::kGone:
        gone_ = burst.segments;
        return Verdict::kTaken;
    }
  }
}

// Sends the segments from `first` on as single datagrams, as many per call as the socket takes.
Sender::Verdict Sender::send_one_by_one(const TxBurst& burst, uint32_t first) {
  Scratch& s = *scratch_;
  gather(burst, first);
  write_control(burst, false);
  const uint32_t count = burst.segments - first;
  s.fill_each(count);
  const int descriptor = sockets_[socket_of(burst)].descriptor();
  uint32_t sent = 0;
  int attempt = 1;
  while (sent < count) {
    ++statistics_.transmit_calls;
    const int now_sent =
        sendmmsg(descriptor, s.messages.data() + sent, count - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (now_sent > 0) {
      statistics_.datagrams_sent += static_cast<uint32_t>(now_sent);
      sent += static_cast<uint32_t>(now_sent);
      attempt = 1;
      continue;
    }
    const Advice advice = judge(errno, burst, false, attempt++);
    if (advice == Advice::kGone) {
      gone_ = count - sent;
      return Verdict::kTaken;
    }
    if (advice == Advice::kRefused) {
      remember(burst, first + sent);
      return Verdict::kRefused;
    }
    s.fill_each(count);
  }
  return Verdict::kTaken;
}

// Decides how to continue after a failed call.
Sender::Advice Sender::judge(int error, const TxBurst& burst, bool row, int attempt) {
  switch (error) {
    case EINTR:
      return Advice::kAgain;
    case EAGAIN:
      refusal_ = Refusal::kSocketFull;
      refused_socket_ = socket_of(burst);
      return Advice::kRefused;
    case ENOBUFS:
    case ENOMEM:
      refusal_ = Refusal::kNoBuffers;
      return Advice::kRefused;
    case EIO:
      if (!row) break;
      stop_segmenting();
      return Advice::kOneByOne;
    default:
      break;
  }
  PathSocket& path = sockets_[socket_of(burst)];
  drain_error_queue(path.descriptor(), burst.path, errors_);
  path.forget_peer();
  scratch_->words.destination = true;
  if (attempt < udp_params::kSendAttempts) return Advice::kAgain;
  if (error == EMSGSIZE || (error == EINVAL && row)) return judge_size(error, burst, row);
  report(burst, error == ECONNREFUSED ? NetworkErrorKind::kRefused : NetworkErrorKind::kUnreachable,
         0);
  return Advice::kGone;
}

// Some kernels return the same error for "larger than the MTU" and "no segmentation offload".
Sender::Advice Sender::judge_size(int error, const TxBurst& burst, bool row) {
  if (row && burst.may_fragment) return Advice::kOneByOne;
  const uint32_t datagram = burst.datagram_bytes();
  const uint32_t mtu = route_mtu(burst.to, options_.nics[burst.nic].family);
  const uint32_t headers = ip_udp_header_bytes(burst.to);
  const uint32_t limit = mtu > headers ? mtu - headers : 0;
  if (error == EINVAL && row && datagram <= limit) {
    stop_segmenting();
    return Advice::kOneByOne;
  }
  report(burst, NetworkErrorKind::kTooLarge,
         limit == 0 ? datagram - 1 : std::min(limit, datagram - 1));
  return Advice::kGone;
}

void Sender::stop_segmenting() {
  if (!options_.segments) return;
  options_.segments = false;
  log_warn(
      "UDP: the interface refuses rows of datagrams (no checksum offload): each datagram now costs "
      "its own way through the kernel; `ethtool -K DEVICE tx on` may help");
}

void Sender::report(const TxBurst& burst, NetworkErrorKind kind, uint32_t limit) {
  // A refusal comes from the peer's host; the error queue has the packet that it quotes.
  const bool local = kind != NetworkErrorKind::kRefused;
  errors_.add(
      {.kind = kind, .to = burst.to, .path = burst.path, .limit_bytes = limit, .local = local});
}

void Sender::remember(const TxBurst& burst, uint32_t segments_sent) {
  partial_.segments_sent = segments_sent;
  partial_.socket = socket_of(burst);
  partial_.header_bytes = burst.header_bytes;
  std::memcpy(partial_.header.data(), burst.headers,
              std::min<size_t>(partial_.header.size(), burst.header_bytes));
}

// The number of segments of this burst that have already left.
uint32_t Sender::resume(const TxBurst& burst) {
  const uint32_t sent = std::exchange(partial_.segments_sent, 0);
  if (sent == 0) return 0;
  const bool same = partial_.socket == socket_of(burst) &&
                    partial_.header_bytes == burst.header_bytes && sent < burst.segments &&
                    std::memcmp(partial_.header.data(), burst.headers,
                                std::min<size_t>(partial_.header.size(), burst.header_bytes)) == 0;
  return same ? sent : 0;
}

}  // namespace heddle::datapath
