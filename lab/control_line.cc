// See control_line.h.
#include "lab/control_line.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/clocks.h"
#include "lab/sockets/endpoint.h"

namespace heddle::lab {
namespace {

// A line is an answer that the other end waits for.
void send_at_once(const Descriptor& socket) {
  const int yes = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool is_same_host(const SocketAddress& a, const SocketAddress& b) {
  if (a.any.sa_family != b.any.sa_family) return false;
  if (a.any.sa_family == AF_INET) return a.four.sin_addr.s_addr == b.four.sin_addr.s_addr;
  return IN6_ARE_ADDR_EQUAL(&a.six.sin6_addr, &b.six.sin6_addr) != 0;
}

// 0, or why it cannot be connected.
int connect_until(const Descriptor& socket, const SocketAddress& server, Nanos end) {
  if (::connect(socket.number(), &server.any, server.bytes) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket, POLLOUT, end)) return ETIMEDOUT;
  int reason = 0;
  socklen_t bytes = sizeof reason;
  return getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &reason, &bytes) == 0 ? reason : errno;
}

}  // namespace

Result<ControlLine> ControlLine::accept(const std::string& address, uint16_t port,
                                        const std::string& client, Nanos end) {
  const std::string what = fmt::format("cannot serve a test at {}:{}", address, port);
  const Result<SocketAddress> at = address_of(address, port);
  if (!at) return fail(at.error());
  const Result<SocketAddress> from = address_of(client, 0);
  if (!from) return fail(from.error());
  const Descriptor listener = new_socket(*at, SOCK_STREAM | SOCK_NONBLOCK);
  const int yes = 1;
  if (!listener.valid() ||
      setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listener.number(), &at->any, at->bytes) != 0 ||
      listen(listener.number(), SOMAXCONN) != 0) {
    return socket_failure(what);
  }
  size_t others = 0;
  while (wait_for(listener, POLLIN, end)) {
    if (others > 0 && steady_now() >= end) break;  // others may connect without end
    Descriptor socket(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return socket_failure(what);
      }
      continue;  // it was gone before it could be accepted
    }
    const Result<SocketAddress> peer = peer_address(socket);
    if (!peer || !is_same_host(*peer, *from)) {
      ++others;
      continue;
    }
    send_at_once(socket);
    return ControlLine(std::move(socket));
  }
  return fail(ErrorCode::kTimeout, what,
              others == 0
                  ? "no connection came"
                  : fmt::format("no connection came from {}, but {} from others", client, others),
              "check that the other host is up");
}

Result<ControlLine> ControlLine::connect(const std::string& own, const std::string& address,
                                         uint16_t port, Nanos end) {
  const std::string what = fmt::format("cannot test with {}:{}", address, port);
  const Result<SocketAddress> server = address_of(address, port);
  if (!server) return fail(server.error());
  const Result<SocketAddress> from = address_of(own, 0);
  if (!from) return fail(from.error());
  for (;;) {
    Descriptor socket = new_socket(*server, SOCK_STREAM | SOCK_NONBLOCK);
    if (!socket.valid() || bind(socket.number(), &from->any, from->bytes) != 0) {
      return socket_failure(what);
    }
    const int reason = connect_until(socket, *server, end);
    if (reason == 0) {
      send_at_once(socket);
      return ControlLine(std::move(socket));
    }
    if (reason == ETIMEDOUT) {
      return fail(ErrorCode::kTimeout, what, "it does not answer",
                  "check that the other host is up, and that no firewall drops this TCP port");
    }
    if (steady_now() > end) {
      errno = reason;
      return socket_failure(what);
    }
    usleep(20'000);
  }
}

bool ControlLine::send(const std::string& line, Nanos end) const {
  return send_text(socket_, line + '\n', end);
}

bool ControlLine::read(std::string& line, Nanos end) const { return read_line(socket_, line, end); }

bool ControlLine::waits() const { return wait_for(socket_, POLLIN, {}); }

}  // namespace heddle::lab
