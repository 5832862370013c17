// See network_errors.h. ip(7), IP_RECVERR, documents the error queue.
#include "datapath/udp/network_errors.h"

// linux/errqueue.h requires struct timespec.
#include <time.h>
// clang-format off
#include <linux/errqueue.h>
// clang-format on
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "datapath/resolve.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/socket_address.h"

namespace heddle::datapath {

using transport::NetworkError;
using transport::NetworkErrorKind;

namespace {

bool same(const NetworkError& a, const NetworkError& b) {
  return a.kind != NetworkErrorKind::kTimeExceeded && a.kind == b.kind && a.to == b.to &&
         a.path == b.path && a.limit_bytes == b.limit_bytes && a.quoted == b.quoted;
}

// False: an error that the transport cannot use.
bool translate(const sock_extended_err& told, NetworkError& error) {
  const bool four = told.ee_origin == SO_EE_ORIGIN_ICMP;
  const bool six = told.ee_origin == SO_EE_ORIGIN_ICMP6;
  const bool too_large =
      (four && told.ee_type == ICMP_DEST_UNREACH && told.ee_code == ICMP_FRAG_NEEDED) ||
      (six && told.ee_type == ICMP6_PACKET_TOO_BIG);
  if (too_large) {
    const uint32_t headers = ip_udp_header_bytes(error.to);
    error.kind = NetworkErrorKind::kTooLarge;
    error.limit_bytes = told.ee_info > headers ? told.ee_info - headers : 0;
    return error.limit_bytes > 0;
  }
  // A fragment reassembly timeout (code 1) carries no information about the path.
  error.kind = NetworkErrorKind::kTimeExceeded;
  if (four && told.ee_type == ICMP_TIME_EXCEEDED) return told.ee_code == ICMP_EXC_TTL;
  if (six && told.ee_type == ICMP6_TIME_EXCEEDED) {
    return told.ee_code == ICMP6_TIME_EXCEED_TRANSIT;
  }
  const bool unreachable =
      (four && told.ee_type == ICMP_DEST_UNREACH) || (six && told.ee_type == ICMP6_DST_UNREACH);
  if (!unreachable) return false;
  const bool refused = told.ee_code == (four ? ICMP_PORT_UNREACH : ICMP6_DST_UNREACH_NOPORT);
  error.kind = refused ? NetworkErrorKind::kRefused : NetworkErrorKind::kUnreachable;
  return true;
}

// Sets the address of the router that sent the error.
void note_router(const cmsghdr& told, NetworkError& error) {
  SocketAddress offender;
  const size_t at = sizeof(sock_extended_err);
  const size_t length = told.cmsg_len - CMSG_LEN(0);
  if (length <= at) return;
  std::memcpy(offender.bytes.data(), CMSG_DATA(&told) + at,
              std::min(length - at, offender.bytes.size()));
  error.router = from_socket_address(offender.bytes.data()).host;
}

}  // namespace

Nanos arrival_of(const cmsghdr& timestamp) {
  timespec at{};
  std::memcpy(&at, CMSG_DATA(&timestamp), sizeof at);
  return seconds(at.tv_sec) + nanos(at.tv_nsec);
}

bool read_network_error(int descriptor, uint16_t path, std::optional<TimedNetworkError>& read) {
  read.reset();
  alignas(8) std::array<std::byte, 512> control;
  std::array<std::byte, 64> packet;  // the start of the quoted packet
  SocketAddress to;
  iovec data{packet.data(), packet.size()};
  msghdr message{};
  message.msg_name = to.bytes.data();
  message.msg_namelen = static_cast<socklen_t>(to.bytes.size());
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t quoted = recvmsg(descriptor, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
  if (quoted < 0) return false;
  Nanos at;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) at = arrival_of(*c);
    const bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                          (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
    if (!is_error) continue;
    sock_extended_err told;
    std::memcpy(&told, CMSG_DATA(c), sizeof told);
    NetworkError error;
    error.to = from_socket_address(to.bytes.data());
    error.path = path;
    if (!translate(told, error)) continue;
    if (error.kind == NetworkErrorKind::kTimeExceeded) note_router(*c, error);
    error.quoted_bytes =
        static_cast<uint8_t>(std::min(static_cast<size_t>(quoted), error.quoted.size()));
    std::copy_n(packet.begin(), error.quoted_bytes, error.quoted.begin());
    read = TimedNetworkError{error, {}};
  }
  if (read) read->at = at;
  return true;
}

void NetworkErrors::add(const NetworkError& error) {
  if (count_ > 0 && same(errors_[(first_ + count_ - 1) % kMost], error)) return;
  if (count_ == kMost) {
    first_ = (first_ + 1) % kMost;
    --count_;
  }
  errors_[(first_ + count_++) % kMost] = error;
}

bool NetworkErrors::take(NetworkError& error) {
  if (count_ == 0) return false;
  error = errors_[first_];
  first_ = (first_ + 1) % kMost;
  --count_;
  return true;
}

void drain_error_queue(int descriptor, uint16_t path, NetworkErrors& errors) {
  // Bounded, so that a flood of ICMP messages cannot block the caller.
  std::optional<TimedNetworkError> read;
  for (int i = 0; i < 64 && read_network_error(descriptor, path, read); ++i) {
    if (read) errors.add(read->error);
  }
  int pending = 0;
  socklen_t length = sizeof pending;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &pending, &length);
}

}  // namespace heddle::datapath
