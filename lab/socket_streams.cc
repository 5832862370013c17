// See socket_streams.h. Each connection has a thread: one alone could be slower than the links.
#include "lab/socket_streams.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <span>
#include <utility>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "base/thread.h"
#include "lab/params.h"
#include "lab/sockets/endpoint.h"

namespace heddle::lab {
namespace {

constexpr char kBegin = 'b';

// What arrived on a connection, and when the first and the last of it did.
struct Received {
  uint64_t bytes = 0;
  Nanos first = Nanos::never();
  Nanos last;
};

void receive_all(const Descriptor& socket, Nanos end, std::span<char> block, Received& received) {
  while (wait_for(socket, POLLIN, end)) {
    const ssize_t got = recv(socket.number(), block.data(), block.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;  // its sender has ended
    received.last = steady_now();
    if (received.bytes == 0) received.first = received.last;
    received.bytes += static_cast<uint64_t>(got);
  }
}

// False: the connection broke.
bool send_all(const Descriptor& socket, Nanos end, std::span<const char> block) {
  while (wait_for(socket, POLLOUT, end)) {
    const ssize_t sent =
        send(socket.number(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
  }
  const linger drop{1, 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
  return true;
}

// `work` of each, at once. Errors: kExhausted.
Result<void> run_each(size_t count, const std::function<void(size_t)>& work) {
  std::vector<Thread> threads;
  Result<void> started;
  for (size_t i = 0; i < count && started; ++i) {
    Result<Thread> thread = start_thread("heddle-stream", [&work, i] { work(i); });
    if (thread) threads.push_back(std::move(*thread));
    if (!thread) started = fail(thread.error());
  }
  for (Thread& each : threads) each.join();
  return started;
}

std::vector<double> rates_of(const std::vector<Received>& received) {
  Nanos first = Nanos::never();
  Nanos last;
  for (const Received& each : received) {
    first = std::min(first, each.first);
    last = std::max(last, each.last);
  }
  std::vector<double> rates;
  for (const Received& each : received) {
    const double seconds = last > first ? to_seconds(last - first) : 0;
    rates.push_back(seconds > 0 ? static_cast<double>(each.bytes) * 8 / seconds : 0);
  }
  return rates;
}

}  // namespace

Result<std::vector<double>> receive_streams(const std::string& address, uint16_t port, size_t count,
                                            Nanos limit) {
  const Nanos end = steady_now() + limit;
  const std::string what = fmt::format("cannot receive streams at {}:{}", address, port);
  const Result<SocketAddress> at = address_of(address, port);
  if (!at) return fail(at.error());
  const Descriptor listener = new_socket(*at, SOCK_STREAM);
  const int yes = 1;
  if (!listener.valid() ||
      setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listener.number(), &at->any, at->bytes) != 0 ||
      listen(listener.number(), static_cast<int>(count)) != 0) {
    return socket_failure(what);
  }
  std::vector<Descriptor> sockets;
  while (sockets.size() < count) {
    if (!wait_for(listener, POLLIN, end)) {
      return fail(ErrorCode::kTimeout, what,
                  fmt::format("{} of {} connections came", sockets.size(), count),
                  "check that the other hosts are up");
    }
    Descriptor socket(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid() && (errno == ECONNABORTED || errno == EINTR)) continue;  // it went away
    if (!socket.valid()) return socket_failure(what);
    sockets.push_back(std::move(socket));
  }
  for (const Descriptor& socket : sockets) {
    if (send(socket.number(), &kBegin, 1, MSG_NOSIGNAL) != 1) return socket_failure(what);
  }
  std::vector<Received> received(count);
  const size_t share = params::kStreamBlocks.count / std::max<size_t>(count, 1);
  const Result<void> ran = run_each(count, [&](size_t i) {
    std::vector<char> block(
        std::clamp<size_t>(share, params::kLeastStreamBlock.count, params::kTcpBlock.count));
    receive_all(sockets[i], end, block, received[i]);
  });
  return ran ? Result<std::vector<double>>(rates_of(received)) : fail(ran.error());
}

Result<void> send_streams(const std::vector<std::string>& addresses, uint16_t port, Nanos span,
                          Nanos limit) {
  const Nanos last_try = steady_now() + limit;
  std::vector<Descriptor> sockets;
  const auto what = [&](size_t i) {
    return fmt::format("cannot send a stream to {}:{}", addresses[i], port);
  };
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Result<SocketAddress> to = address_of(addresses[i], port);
    if (!to) return fail(to.error());
    Result<Descriptor> socket = connect_stream(*to, what(i), last_try);
    if (!socket) return fail(std::move(socket).error());
    sockets.push_back(std::move(*socket));
  }
  for (size_t i = 0; i < sockets.size(); ++i) {
    char begin = 0;
    if (!wait_for(sockets[i], POLLIN, last_try) ||
        recv(sockets[i].number(), &begin, 1, MSG_DONTWAIT) != 1) {
      return fail(ErrorCode::kTimeout, what(i), "it does not let this host begin",
                  "check that all hosts are up");
    }
  }
  const Nanos end = steady_now() + span;
  std::vector<char> sent(sockets.size());
  const std::vector<char> block(params::kTcpBlock.count, 'h');  // of all: none changes it
  const auto send_one = [&](size_t i) { sent[i] = send_all(sockets[i], end, block) ? 1 : 0; };
  if (Result<void> ran = run_each(sockets.size(), send_one); !ran) return ran;
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] == 0) {
      return fail(ErrorCode::kSystem, what(i), "the connection broke",
                  "check that the other host is up");
    }
  }
  return {};
}

}  // namespace heddle::lab
