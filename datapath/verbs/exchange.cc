// See exchange.h.
#include "datapath/verbs/exchange.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "datapath/udp/socket_address.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {
namespace {

Unexpected cannot_open(const char* what) {
  const bool too_many = errno == EMFILE || errno == ENFILE;
  return fail(too_many ? ErrorCode::kExhausted : ErrorCode::kSystem, what, std::strerror(errno),
              too_many ? "use fewer paths, or raise the limit (`ulimit -n`)" : "");
}

sockaddr* generic(SocketAddress& address) {
  return reinterpret_cast<sockaddr*>(address.bytes.data());
}

}  // namespace

Result<std::unique_ptr<Exchange>> Exchange::open(const transport::Address& host) {
  std::unique_ptr<Exchange> made(new Exchange());
  made->ipv4_ = is_ipv4(host);
  const Family family = made->ipv4_ ? Family::kIpv4 : Family::kIpv6;
  made->socket_ = Descriptor(socket(made->ipv4_ ? AF_INET : AF_INET6,
                                    SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  made->timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!made->socket_.valid() || !made->timer_.valid()) {
    return cannot_open("cannot open the socket for queue pairs");
  }
  transport::Address local = host;
  local.port = 0;
  SocketAddress address;
  if (!to_socket_address(local, family, address) ||
      bind(made->socket_.number(), generic(address), address.length) != 0) {
    return cannot_open("cannot bind the socket for queue pairs");
  }
  SocketAddress bound;
  socklen_t length = sizeof bound.bytes;
  if (getsockname(made->socket_.number(), generic(bound), &length) != 0) {
    return cannot_open("cannot read the port of the socket for queue pairs");
  }
  made->port_ = from_socket_address(bound.bytes.data()).port;
  return made;
}

void Exchange::request(Nanos now, const transport::Address& to, const ExchangeMessage& message) {
  const Nanos span = verbs_params::kRequestRetry;
  requests_[message.nonce] = {to, message, now + span, span, 1};
  send(to, message);
  set_timer();
}

void Exchange::finish(uint64_t nonce) {
  if (requests_.erase(nonce) > 0) set_timer();
}

void Exchange::send(const transport::Address& to, const ExchangeMessage& message) {
  std::array<std::byte, kExchangeBytes> bytes;
  write_exchange(message, bytes);
  SocketAddress address;
  if (!to_socket_address(to, ipv4_ ? Family::kIpv4 : Family::kIpv6, address)) return;
  // What is not sent is repeated.
  const ssize_t sent =
      sendto(socket_.number(), bytes.data(), bytes.size(), 0, generic(address), address.length);
  static_cast<void>(sent);
}

void Exchange::turn(Nanos now, ExchangeHandler& handler) {
  receive(handler);
  if (!requests_.empty()) repeat(now, handler);
}

void Exchange::receive(ExchangeHandler& handler) {
  for (int i = 0; i < verbs_params::kMessagesATurn; ++i) {
    std::array<std::byte, kExchangeBytes + 1> bytes;
    SocketAddress address;
    socklen_t length = sizeof address.bytes;
    const ssize_t got =
        recvfrom(socket_.number(), bytes.data(), bytes.size(), 0, generic(address), &length);
    if (got < 0 && errno == ECONNREFUSED) continue;  // of an earlier message: it is repeated
    if (got < 0) return;
    const auto message = read_exchange(std::span(bytes).first(static_cast<size_t>(got)));
    if (message) handler.handle_message(from_socket_address(address.bytes.data()), *message);
  }
}

void Exchange::repeat(Nanos now, ExchangeHandler& handler) {
  std::vector<uint64_t> silent;
  bool changed = false;
  for (auto& [nonce, request] : requests_) {
    if (request.due > now) continue;
    changed = true;
    if (request.tries >= verbs_params::kRequestTries) {
      silent.push_back(nonce);
      continue;
    }
    ++request.tries;
    request.span = request.span * 2;
    request.due = now + request.span;
    send(request.to, request.message);
  }
  for (const uint64_t nonce : silent) {
    requests_.erase(nonce);
    handler.handle_silence(nonce);
  }
  if (changed) set_timer();
}

void Exchange::set_timer() {
  Nanos next = Nanos::never();
  for (const auto& [nonce, request] : requests_) next = std::min(next, request.due);
  itimerspec time{};
  if (next != Nanos::never()) {
    time.it_value.tv_sec = next.count / 1'000'000'000;
    time.it_value.tv_nsec = next.count % 1'000'000'000;
  }
  timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &time, nullptr);
}

}  // namespace heddle::datapath
