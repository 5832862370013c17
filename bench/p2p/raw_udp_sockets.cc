// Sockets of the raw UDP program.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/p2p/raw_udp_parts.h"

namespace heddle::bench {
namespace {

constexpr int kBufferBytes = 8 << 20;

Nanos clock_time(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

uint16_t& port_of(sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

socklen_t length_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// Enlarges a buffer as a privileged process may, else within the limits of other processes.
void enlarge(const RawSocket& socket, int forced, int asked) {
  if (setsockopt(socket.get(), SOL_SOCKET, forced, &kBufferBytes, sizeof kBufferBytes) != 0) {
    setsockopt(socket.get(), SOL_SOCKET, asked, &kBufferBytes, sizeof kBufferBytes);
  }
}

}  // namespace

RawSocket::~RawSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}
RawSocket::RawSocket(RawSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}
RawSocket& RawSocket::operator=(RawSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Nanos raw_now() { return clock_time(CLOCK_MONOTONIC); }

uint64_t thread_cpu_nanos() {
  return static_cast<uint64_t>(clock_time(CLOCK_THREAD_CPUTIME_ID).count);
}

Unexpected system_failure(const std::string& what) {
  return fail(ErrorCode::kSystem, what, std::strerror(errno));
}

Result<RawSocket> listen_tcp(uint16_t port) {
  RawSocket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_failure("cannot make a TCP socket");
  const int one = 1;
  const int zero = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
      listen(socket.get(), 4) != 0) {
    return system_failure("cannot listen on TCP port " + std::to_string(port));
  }
  return socket;
}

Result<RawSocket> accept_tcp(const RawSocket& listener) {
  RawSocket socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.get() < 0) return system_failure("cannot accept a client");
  return socket;
}

Result<RawSocket> connect_tcp(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, &freeaddrinfo);
  if (code != 0) {
    return fail(ErrorCode::kUnavailable, "cannot find the host '" + host + "'", gai_strerror(code));
  }
  for (const addrinfo* entry = raw; entry != nullptr; entry = entry->ai_next) {
    RawSocket socket(::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(socket.get(), entry->ai_addr, entry->ai_addrlen) == 0) return socket;
  }
  return fail(ErrorCode::kUnavailable, "cannot reach " + host, std::strerror(errno),
              "start `heddle-bench-raw-udp --server` there");
}

Result<RawSocket> open_udp_beside(const RawSocket& control, uint16_t& port) {
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  if (getsockname(control.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    return system_failure("cannot read the address of the control connection");
  }
  RawSocket socket(::socket(local.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  port_of(local) = 0;
  if (socket.get() < 0 ||
      bind(socket.get(), reinterpret_cast<sockaddr*>(&local), length_of(local)) != 0) {
    return system_failure("cannot open a UDP port");
  }
  enlarge(socket, SO_RCVBUFFORCE, SO_RCVBUF);
  enlarge(socket, SO_SNDBUFFORCE, SO_SNDBUF);
  length = sizeof local;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length);
  port = ntohs(port_of(local));
  return socket;
}

Result<void> connect_udp_beside(const RawSocket& control, const RawSocket& udp, uint16_t port) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  getpeername(control.get(), reinterpret_cast<sockaddr*>(&peer), &length);
  port_of(peer) = htons(port);
  if (connect(udp.get(), reinterpret_cast<sockaddr*>(&peer), length_of(peer)) != 0) {
    return system_failure("cannot connect the UDP socket");
  }
  return {};
}

Result<void> write_all(const RawSocket& socket, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = send(socket.get(), at, bytes, MSG_NOSIGNAL);
    if (done <= 0) return system_failure("the control connection broke");
    at += done;
    bytes -= static_cast<size_t>(done);
  }
  return {};
}

Result<void> read_all(const RawSocket& socket, void* data, size_t bytes) {
  const ssize_t done = recv(socket.get(), data, bytes, MSG_WAITALL);
  if (done == static_cast<ssize_t>(bytes)) return {};
  return fail(ErrorCode::kPeerDead, "the control connection broke",
              done < 0 ? std::strerror(errno) : "the other end is gone");
}

bool has_input(const RawSocket& socket) {
  pollfd watched{.fd = socket.get(), .events = POLLIN};
  return poll(&watched, 1, 0) > 0;
}

}  // namespace heddle::bench
