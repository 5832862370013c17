// The client of socket tests: see socket_tests.h.
#include "lab/socket_tests.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/latency_histogram.h"
#include "lab/params.h"
#include "lab/sockets/endpoint.h"

namespace heddle::lab {
namespace {

void sleep_until(Nanos time) {
  const Nanos left = time - steady_now();
  if (left.count > 0) usleep(static_cast<useconds_t>(left / micros(1)));
}

// Half of a percentile, in microseconds.
double one_way_us(const LatencyHistogram& round_trips, uint32_t per_mille) {
  return static_cast<double>(round_trips.percentile(per_mille).count) / 2e3;
}

class Client {
 public:
  Client(std::string what, const SocketAddress& server, const SocketPlan& plan)
      : what_(std::move(what)), server_(server), plan_(plan) {}

  Result<SocketFigures> run() {
    if (Result<void> met = meet(); !met) return fail(met.error());
    Nanos at = steady_now();
    const auto next = [&](Nanos span) {
      at = at + span + params::kSocketPause;
      sleep_until(at);
    };
    if (!measure_tcp_latency(at + plan_.latency)) return silent();
    const bool datagrams = plan_.datagrams.count > 0;
    if (datagrams) {
      next(plan_.latency);
      measure_udp_latency(at + plan_.latency);
    }
    if (plan_.stream.count > 0) {
      next(plan_.latency);
      const Result<void> streamed = measure_stream(at + plan_.stream);
      if (!streamed) return fail(streamed.error());
    }
    if (datagrams) {
      next(plan_.stream.count > 0 ? plan_.stream : plan_.latency);
      if (!measure_datagrams(at)) return silent();
    }
    return figures_;
  }

 private:
  Unexpected silent() const {
    return fail(ErrorCode::kTimeout, what_, "the other end fell silent",
                "check that the other host is up");
  }

  Nanos patience() const { return steady_now() + params::kTcpConnect; }

  Result<Descriptor> connected() const { return connect_stream(server_, what_, patience()); }

  Result<void> meet() {
    Result<Descriptor> control = connected();
    if (!control) return fail(std::move(control).error());
    control_ = std::move(*control);
    const int yes = 1;
    setsockopt(control_.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    Result<SocketAddress> own = own_address(control_);
    if (!own) return fail(std::move(own).error());
    own->set_port(0);
    datagrams_ = new_socket(*own, SOCK_DGRAM);
    if (!datagrams_.valid() || bind(datagrams_.number(), &own->any, own->bytes) != 0 ||
        connect(datagrams_.number(), &server_.any, server_.bytes) != 0) {
      return socket_failure(what_);
    }
    own = own_address(datagrams_);
    if (!own) return fail(std::move(own).error());
    const uint16_t port =
        ntohs(own->any.sa_family == AF_INET ? own->four.sin_port : own->six.sin6_port);
    if (!ask(fmt::format("udp {}", port))) return silent();
    return {};
  }

  // The answer's line is in line_.
  bool ask(const std::string& text) {
    return send_text(control_, text + '\n', patience()) && read_line(control_, line_, patience());
  }

  bool measure_tcp_latency(Nanos end) {
    LatencyHistogram round_trips;
    while (steady_now() < end) {
      const Nanos start = steady_now();
      if (!ask("ping")) return false;
      round_trips.add(steady_now() - start);
    }
    figures_.tcp_us = one_way_us(round_trips, 500);
    figures_.tcp_us_p99 = one_way_us(round_trips, 990);
    return true;
  }

  // A ping that does not come back is not counted; an answer of an earlier one neither.
  void measure_udp_latency(Nanos end) {
    LatencyHistogram round_trips;
    for (uint64_t number = 1; steady_now() < end; ++number) {
      const Nanos start = steady_now();
      static_cast<void>(send(datagrams_.number(), &number, sizeof number, MSG_DONTWAIT));
      const Nanos wait = std::min(end, start + params::kPingWait);
      while (wait_for(datagrams_, POLLIN, wait)) {
        uint64_t answer = 0;
        const ssize_t got = recv(datagrams_.number(), &answer, sizeof answer, MSG_DONTWAIT);
        if (got != sizeof answer || answer != number) continue;
        round_trips.add(steady_now() - start);
        break;
      }
    }
    figures_.udp_us = one_way_us(round_trips, 500);
  }

  // Its end drops what is not sent yet, which on a slow link would take long.
  Result<void> measure_stream(Nanos end) {
    if (!ask("stream")) return silent();
    {
      const Result<Descriptor> stream = connected();
      if (!stream) return fail(stream.error());
      const std::vector<char> block(params::kTcpBlock.count, 'h');
      while (steady_now() < end && wait_for(*stream, POLLOUT, end)) {
        const ssize_t sent =
            send(stream->number(), block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN) return socket_failure(what_);
      }
      const linger drop{1, 0};
      setsockopt(stream->number(), SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
      if (!ask("count")) return silent();
    }
    const auto [bytes, span] = counted();
    if (span > 0) figures_.tcp_bits_per_s = bytes * 8e9 / span;
    return {};
  }

  // Bytes, and the nanoseconds in which they came.
  std::pair<double, double> counted() const {
    char* rest = nullptr;
    const double bytes = std::strtod(line_.c_str(), &rest);
    return {bytes, std::strtod(rest, nullptr)};
  }

  bool measure_datagrams(Nanos start) {
    const std::vector<char> message(params::kUdpMessage.count, 'h');
    const Nanos end = start + plan_.datagrams;
    uint64_t sent = 0;
    for (Nanos now = steady_now(); now < end; now = steady_now()) {
      const Nanos due = start + transmit_time({sent}, plan_.offered);
      if (due - now > params::kShortSleep) {
        sleep_until(std::min(due, end));
        continue;
      }
      if (due > now) continue;
      const ssize_t taken =
          send(datagrams_.number(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (taken > 0) sent += static_cast<uint64_t>(taken);
      if (taken < 0 && errno == EAGAIN) wait_for(datagrams_, POLLOUT, end);
    }
    sleep_until(end + params::kSocketPause);  // what queues hold arrives
    if (!ask("count")) return false;
    const double span = to_seconds(plan_.datagrams);
    figures_.udp_sent_bits_per_s = static_cast<double>(sent) * 8 / span;
    figures_.udp_received_bits_per_s = counted().first * 8 / span;
    return true;
  }

  std::string what_;
  const SocketAddress& server_;
  const SocketPlan& plan_;
  Descriptor control_;
  Descriptor datagrams_;
  std::string line_;
  SocketFigures figures_;
};

}  // namespace

Nanos SocketPlan::span() const {
  return latency * 2 + stream + datagrams + params::kSocketPause * 4;
}

Result<SocketFigures> run_socket_tests(const std::string& address, uint16_t port,
                                       const SocketPlan& plan) {
  const Result<SocketAddress> server = address_of(address, port);
  if (!server) return fail(server.error());
  return Client(fmt::format("cannot test sockets of {}:{}", address, port), *server, plan).run();
}

}  // namespace heddle::lab
