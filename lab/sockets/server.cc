// The serving end of socket tests: see socket_tests.h.
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "lab/params.h"
#include "lab/socket_tests.h"
#include "lab/sockets/endpoint.h"

namespace heddle::lab {
namespace {

// What arrived, and from the first to the last of it.
struct Arrived {
  uint64_t bytes = 0;
  Nanos first;
  Nanos last;

  void add(size_t more) {
    last = steady_now();
    if (bytes == 0) first = last;
    bytes += more;
  }
};

class Server {
 public:
  Server(Descriptor listener, Descriptor datagrams, Descriptor client)
      : listener_(std::move(listener)),
        datagrams_(std::move(datagrams)),
        client_(std::move(client)),
        block_(params::kTcpBlock.count) {}

  void run(Nanos end) {
    std::string line;
    while (steady_now() < end) {  // datagrams that never pause are no reason to go on
      std::array<pollfd, 3> sockets{{{client_.number(), POLLIN, 0},
                                     {datagrams_.number(), POLLIN, 0},
                                     {stream_.number(), POLLIN, 0}}};
      const auto left_ms = static_cast<int>(std::max((end - steady_now()) / millis(1), int64_t{0}));
      const int ready = poll(sockets.data(), stream_.valid() ? 3 : 2, left_ms);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return;  // it took too long
      if (sockets[1].revents != 0) take_datagrams();
      if (stream_.valid() && sockets[2].revents != 0) take_stream();
      if (sockets[0].revents == 0) continue;
      if (!read_line(client_, line, end) || !follow(line, end)) return;
    }
  }

 private:
  bool follow(const std::string& line, Nanos end) {
    if (line == "ping") return send_text(client_, "pong\n", end);
    if (line.rfind("udp ", 0) == 0) return expect_from(line.substr(4)) && answer("ready", end);
    if (line == "stream") {
      arrived_ = {};
      if (!answer("ready", end) || !wait_for(listener_, POLLIN, end)) return false;
      stream_ = Descriptor(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      return stream_.valid();
    }
    if (line != "count") return false;
    while (steady_now() < end && take_datagrams()) {
    }
    while (steady_now() < end && stream_.valid() && take_stream()) {
    }
    const Arrived arrived = std::exchange(arrived_, {});
    stream_ = Descriptor();
    return answer(fmt::format("{} {}", arrived.bytes, (arrived.last - arrived.first).count), end);
  }

  bool answer(const std::string& text, Nanos end) { return send_text(client_, text + '\n', end); }

  // From now on no datagrams of others.
  bool expect_from(const std::string& port) {
    Result<SocketAddress> peer = peer_address(client_);
    if (!peer) return false;
    peer->set_port(static_cast<uint16_t>(std::strtoul(port.c_str(), nullptr, 10)));
    return connect(datagrams_.number(), &peer->any, peer->bytes) == 0;
  }

  // One; false: there is none.
  bool take_datagrams() {
    const ssize_t got = recv(datagrams_.number(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got < 0) return false;
    const auto bytes = static_cast<size_t>(got);
    if (bytes > params::kMostPing) {
      arrived_.add(bytes);
    } else {
      static_cast<void>(send(datagrams_.number(), block_.data(), bytes, MSG_DONTWAIT));
    }
    return true;
  }

  bool take_stream() {
    const ssize_t got = recv(stream_.number(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got > 0) arrived_.add(static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) stream_ = Descriptor();
    return got > 0;
  }

  Descriptor listener_;
  Descriptor datagrams_;
  Descriptor client_;
  Descriptor stream_;
  std::vector<char> block_;
  Arrived arrived_;
};

}  // namespace

Result<void> serve_socket_tests(const std::string& address, uint16_t port, Nanos limit) {
  const Nanos end = steady_now() + limit;
  const std::string what = fmt::format("cannot serve tests of sockets at {}:{}", address, port);
  const Result<SocketAddress> at = address_of(address, port);
  if (!at) return fail(at.error());
  Descriptor listener = new_socket(*at, SOCK_STREAM);
  Descriptor datagrams = new_socket(*at, SOCK_DGRAM);
  const int yes = 1;
  if (!listener.valid() || !datagrams.valid() ||
      setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(datagrams.number(), &at->any, at->bytes) != 0 ||
      bind(listener.number(), &at->any, at->bytes) != 0 || listen(listener.number(), 1) != 0) {
    return socket_failure(what);
  }
  if (!wait_for(listener, POLLIN, end)) {
    return fail(ErrorCode::kTimeout, what, "no connection came", "check that the other host is up");
  }
  Descriptor client(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.valid()) return socket_failure(what);
  setsockopt(client.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Server(std::move(listener), std::move(datagrams), std::move(client)).run(end);
  return {};
}

}  // namespace heddle::lab
