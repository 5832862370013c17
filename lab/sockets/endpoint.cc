// See endpoint.h.
#include "lab/sockets/endpoint.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/clocks.h"
#include "lab/params.h"

namespace heddle::lab {
namespace {

constexpr std::string_view kCubic = "cubic";

Result<SocketAddress> name_of(const Descriptor& socket,
                              int (*name)(int, sockaddr* __restrict, socklen_t* __restrict)) {
  SocketAddress address;
  address.bytes = sizeof address.six;
  if (name(socket.number(), &address.any, &address.bytes) != 0) {
    return socket_failure("cannot read the address of a socket");
  }
  return address;
}

}  // namespace

void SocketAddress::set_port(uint16_t port) {
  if (any.sa_family == AF_INET) four.sin_port = htons(port);
  if (any.sa_family == AF_INET6) six.sin6_port = htons(port);
}

Result<SocketAddress> address_of(const std::string& text, uint16_t port) {
  SocketAddress address;
  if (inet_pton(AF_INET, text.c_str(), &address.four.sin_addr) == 1) {
    address.four.sin_family = AF_INET;
    address.bytes = sizeof address.four;
  } else if (inet_pton(AF_INET6, text.c_str(), &address.six.sin6_addr) == 1) {
    address.six.sin6_family = AF_INET6;
    address.bytes = sizeof address.six;
  } else {
    return fail(ErrorCode::kInvalid, "cannot use the address " + text,
                "it is neither an IPv4 nor an IPv6 address");
  }
  address.set_port(port);
  return address;
}

Descriptor new_socket(const SocketAddress& address, int type) {
  return Descriptor(socket(address.any.sa_family, type | SOCK_CLOEXEC, 0));
}

Result<Descriptor> connect_stream(const SocketAddress& to, const std::string& what,
                                  Nanos last_try) {
  for (;;) {
    Descriptor socket = new_socket(to, SOCK_STREAM);
    if (!socket.valid()) return socket_failure(what);
    static_cast<void>(
        setsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, kCubic.data(), kCubic.size()));
    if (connect(socket.number(), &to.any, to.bytes) == 0) return socket;
    if (steady_now() > last_try) return socket_failure(what);
    usleep(20'000);
  }
}

Result<SocketAddress> own_address(const Descriptor& socket) { return name_of(socket, getsockname); }

Result<SocketAddress> peer_address(const Descriptor& socket) {
  return name_of(socket, getpeername);
}

Unexpected socket_failure(const std::string& what) {
  const int reason = errno;
  const ErrorCode code = reason == EADDRINUSE ? ErrorCode::kInUse : ErrorCode::kSystem;
  return fail(code, what, std::strerror(reason), "see `ip address` and `ss -tuln` on that host");
}

bool wait_for(const Descriptor& socket, short events, Nanos end) {
  for (;;) {
    const Nanos left = std::max(Nanos{}, end - steady_now());
    const timespec time{left.count / 1'000'000'000, left.count % 1'000'000'000};
    pollfd wait{socket.number(), events, 0};
    const int ready = ppoll(&wait, 1, &time, nullptr);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool send_text(const Descriptor& socket, const std::string& text, Nanos end) {
  for (size_t done = 0; done < text.size();) {
    if (!wait_for(socket, POLLOUT, end)) return false;
    const ssize_t sent =
        send(socket.number(), text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (sent > 0) done += static_cast<size_t>(sent);
  }
  return true;
}

bool read_line(const Descriptor& socket, std::string& line, Nanos end) {
  line.clear();
  while (line.size() < params::kMostLine) {
    if (!wait_for(socket, POLLIN, end)) return false;
    char each = 0;
    const ssize_t got = recv(socket.number(), &each, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    if (each == '\n') return true;
    line += each;
  }
  return false;
}

}  // namespace heddle::lab
