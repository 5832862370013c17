// See ../probe_socket.h. ip(7) and ipv6(7) document the options.
#include "datapath/probe_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "datapath/resolve.h"
#include "datapath/udp/network_errors.h"
#include "datapath/udp/params.h"
#include "datapath/udp/socket_address.h"

namespace heddle::datapath {
namespace {

bool set(int descriptor, int level, int name, int value) {
  return setsockopt(descriptor, level, name, &value, sizeof value) == 0;
}

ErrorCode code_of(int error) {
  switch (error) {
    case EADDRINUSE:
      return ErrorCode::kInUse;
    case EADDRNOTAVAIL:
      return ErrorCode::kUnavailable;
    case EACCES:
    case EPERM:
      return ErrorCode::kPermission;
    default:
      return ErrorCode::kSystem;
  }
}

void set_up(int descriptor, bool is_ipv4) {
  if (is_ipv4) {
    set(descriptor, IPPROTO_IP, IP_RECVERR, 1);
    set(descriptor, IPPROTO_IP, IP_RECVTTL, 1);
  } else {
    set(descriptor, IPPROTO_IPV6, IPV6_RECVERR, 1);
    set(descriptor, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  }
  set(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  if (!set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, udp_params::kProbeBufferBytes)) {
    set(descriptor, SOL_SOCKET, SO_RCVBUF, udp_params::kProbeBufferBytes);
  }
}

void read_control(msghdr& message, ProbeArrival& arrival) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) arrival.at = arrival_of(*c);
    const bool is_limit = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                          (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT);
    if (!is_limit) continue;
    int limit = 0;
    std::memcpy(&limit, CMSG_DATA(c), sizeof limit);
    arrival.hop_limit = static_cast<uint8_t>(limit);
  }
}

}  // namespace

Result<ProbeSocket> ProbeSocket::open(const transport::Address& local) {
  const bool is_ipv4 = datapath::is_ipv4(local);
  const Family family = is_ipv4 ? Family::kIpv4 : Family::kIpv6;
  const std::string what = "cannot probe from " + to_text(local);
  Descriptor descriptor(::socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) return fail(code_of(errno), what, std::strerror(errno));
  set_up(descriptor.number(), is_ipv4);
  SocketAddress address;
  CHECK(to_socket_address(local, family, address));
  const auto* raw = reinterpret_cast<const sockaddr*>(address.bytes.data());
  if (bind(descriptor.number(), raw, address.length) != 0) {
    const int error = errno;
    return fail(code_of(error), what, std::strerror(error),
                error == EADDRINUSE ? "choose other ports with --port and --first-port"
                                    : "`ip address` shows the addresses of this host");
  }
  return ProbeSocket(std::move(descriptor), is_ipv4);
}

bool ProbeSocket::send(const transport::Address& to, uint8_t hop_limit,
                       std::span<const std::byte> payload) {
  if (hop_limit_ != hop_limit) {
    const bool changed = is_ipv4_ ? set(descriptor(), IPPROTO_IP, IP_TTL, hop_limit)
                                  : set(descriptor(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, hop_limit);
    if (!changed) return false;
    hop_limit_ = hop_limit;
  }
  SocketAddress address;
  if (!to_socket_address(to, is_ipv4_ ? Family::kIpv4 : Family::kIpv6, address)) return false;
  const auto* raw = reinterpret_cast<const sockaddr*>(address.bytes.data());
  // A call may return an error of an earlier datagram in place of sending.
  for (int attempt = 0; attempt < 8; ++attempt) {
    const ssize_t sent =
        sendto(descriptor(), payload.data(), payload.size(), 0, raw, address.length);
    if (sent >= 0) return true;
  }
  return false;
}

bool ProbeSocket::receive(ProbeArrival& arrival) const {
  arrival = {};
  alignas(8) std::array<std::byte, 256> control;
  SocketAddress from;
  iovec data{arrival.head.data(), arrival.head.size()};
  msghdr message{};
  message.msg_name = from.bytes.data();
  message.msg_namelen = static_cast<socklen_t>(from.bytes.size());
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(descriptor(), &message, MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0) return false;
  arrival.bytes = static_cast<size_t>(got);
  arrival.from = from_socket_address(from.bytes.data());
  read_control(message, arrival);
  return true;
}

bool ProbeSocket::take_error(transport::NetworkError& error, Nanos& at) const {
  std::optional<TimedNetworkError> read;
  // Bounded, so that a flood of ICMP messages cannot block the caller.
  for (int i = 0; i < 64 && read_network_error(descriptor(), 0, read); ++i) {
    if (!read) continue;
    error = read->error;
    at = read->at;
    return true;
  }
  int pending = 0;  // the next call would return it
  socklen_t length = sizeof pending;
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &pending, &length);
  return false;
}

}  // namespace heddle::datapath
