// See tcp_flow.h.
#include "lab/tcp_flow.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "lab/params.h"

namespace heddle::lab {
namespace {

constexpr std::string_view kCubic = "cubic";

int remaining_ms(Nanos end) {
  return static_cast<int>(std::max<int64_t>(0, (end - steady_now()) / millis(1)));
}

Unexpected failed(const std::string& what) {
  const int reason = errno;
  const ErrorCode code = reason == EADDRINUSE ? ErrorCode::kInUse : ErrorCode::kSystem;
  return fail(code, what, std::strerror(reason), "see `ip address` and `ss -tln` on that host");
}

struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six{};
  };
  socklen_t bytes = 0;
};

Result<SocketAddress> address_of(const std::string& text, uint16_t port) {
  SocketAddress address;
  if (inet_pton(AF_INET, text.c_str(), &address.four.sin_addr) == 1) {
    address.four.sin_family = AF_INET;
    address.four.sin_port = htons(port);
    address.bytes = sizeof address.four;
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), &address.six.sin6_addr) == 1) {
    address.six.sin6_family = AF_INET6;
    address.six.sin6_port = htons(port);
    address.bytes = sizeof address.six;
    return address;
  }
  return fail(ErrorCode::kInvalid, "cannot use the address " + text,
              "it is neither an IPv4 nor an IPv6 address");
}

Descriptor new_socket(const SocketAddress& address) {
  return Descriptor(socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool wait_for(int descriptor, short what, Nanos end) {
  pollfd wait{descriptor, what, 0};
  return poll(&wait, 1, remaining_ms(end)) > 0;
}

}  // namespace

Result<TcpFigures> receive_tcp(const std::string& address, uint16_t port, Nanos limit) {
  const Nanos end = steady_now() + limit;
  const std::string what = fmt::format("cannot receive TCP at {}:{}", address, port);
  const Result<SocketAddress> at = address_of(address, port);
  if (!at) return fail(at.error());
  const Descriptor listener = new_socket(*at);
  const int yes = 1;
  if (!listener.valid() ||
      setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listener.number(), &at->any, at->bytes) != 0 || listen(listener.number(), 1) != 0) {
    return failed(what);
  }
  const Unexpected late =
      fail(ErrorCode::kTimeout, what, "no connection came", "check that the other host is up");
  if (!wait_for(listener.number(), POLLIN, end)) return late;
  const Descriptor peer(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer.valid()) return failed(what);
  std::vector<char> block(params::kTcpBlock.count);
  TcpFigures figures;
  Nanos first;
  while (wait_for(peer.number(), POLLIN, end)) {
    const ssize_t got = recv(peer.number(), block.data(), block.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (first.count == 0) first = steady_now();
    figures.received.count += static_cast<uint64_t>(got);
    figures.span = steady_now() - first;
  }
  return figures;
}

Result<void> send_tcp(const std::string& address, uint16_t port, Nanos span) {
  const std::string what = fmt::format("cannot send TCP to {}:{}", address, port);
  const Result<SocketAddress> to = address_of(address, port);
  if (!to) return fail(to.error());
  const Nanos last_try = steady_now() + params::kTcpConnect;
  Descriptor peer;
  for (;;) {
    peer = new_socket(*to);
    if (!peer.valid()) return failed(what);
    // Refused where this kernel lacks it: then its default is measured.
    static_cast<void>(
        setsockopt(peer.number(), IPPROTO_TCP, TCP_CONGESTION, kCubic.data(), kCubic.size()));
    if (connect(peer.number(), &to->any, to->bytes) == 0) break;
    if (steady_now() > last_try) return failed(what);
    usleep(20'000);
  }
  const std::vector<char> block(params::kTcpBlock.count, 'h');
  const Nanos end = steady_now() + span;
  while (steady_now() < end) {
    if (!wait_for(peer.number(), POLLOUT, end)) break;
    const ssize_t sent =
        send(peer.number(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return failed(what);
  }
  return {};
}

}  // namespace heddle::lab
