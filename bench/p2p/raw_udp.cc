// The two roles of the raw UDP program, and their control messages over TCP.
#include "bench/p2p/raw_udp.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "bench/p2p/raw_udp_parts.h"
#include "bench/p2p/raw_xdp.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kIpUdpHeaderBytes = 28;

// XDP sockets at the port that a UDP socket reserves; null where the request wants UDP.
Result<std::unique_ptr<RawXdp>> open_xdp_if_wanted(const RawSocket& control,
                                                   const RawRequest& request, uint16_t port) {
  if (request.xdp == 0) return std::unique_ptr<RawXdp>();
  return RawXdp::open(control, port, request.datagram_bytes + kIpUdpHeaderBytes);
}

Result<RawReceived> serve_test(const RawSocket& control, const RawSocket& udp, RawXdp* xdp,
                               const RawRequest& request) {
  const bool bandwidth = request.test == RawTest::kBandwidth;
  if (bandwidth) {
    return xdp != nullptr ? xdp->receive_bandwidth(request, control)
                          : receive_bandwidth(udp, request, control);
  }
  if (xdp != nullptr) {
    xdp->pong(request, control);
  } else if (Result<void> served = pong(udp, request, control); !served) {
    return fail(served.error());
  }
  return RawReceived();
}

Result<void> serve_client(const RawSocket& control) {
  RawRequest request;
  uint16_t peer_port = 0;
  if (auto got = read_all(control, &request, sizeof request); !got) return got;
  if (auto got = read_all(control, &peer_port, sizeof peer_port); !got) return got;
  if (request.magic != RawRequest::kMagic || request.datagram_bytes <= sizeof(RawHeader) ||
      request.datagram_bytes > 65507 || request.message_bytes > 65507 ||
      request.memory_mebibytes < 1 || request.memory_mebibytes > 1024 ||
      request.calls > RawCallKind::kRing) {
    return fail(ErrorCode::kInvalid, "a client asked for something impossible");
  }
  uint16_t port = 0;
  Result<RawSocket> udp = open_udp_beside(control, port);
  if (!udp) return fail(udp.error());
  if (auto done = connect_udp_beside(control, *udp, peer_port); !done) return done;
  Result<std::unique_ptr<RawXdp>> xdp = open_xdp_if_wanted(control, request, port);
  if (!xdp) return fail(xdp.error());
  if (*xdp != nullptr) {
    if (auto done = (*xdp)->connect(control, peer_port); !done) return done;
  }
  if (auto done = write_all(control, &port, sizeof port); !done) return done;
  const Result<RawReceived> received = serve_test(control, *udp, xdp->get(), request);
  if (!received) return fail(received.error());
  char over = 0;
  if (auto got = read_all(control, &over, sizeof over); !got) return got;
  return write_all(control, &*received, sizeof *received);
}

}  // namespace

Result<void> serve_raw_udp(uint16_t port, bool once) {
  Result<RawSocket> listener = listen_tcp(port);
  if (!listener) return fail(listener.error());
  fmt::print("listens on TCP port {}\n", port);
  std::fflush(stdout);
  while (true) {
    Result<RawSocket> control = accept_tcp(*listener);
    if (!control) return fail(control.error());
    Result<void> served = serve_client(*control);
    if (once) return served;
  }
}

Result<RawOutcome> run_raw_udp(const std::string& host, uint16_t port, const RawRequest& request) {
  Result<RawSocket> control = connect_tcp(host, port);
  if (!control) return fail(control.error());
  uint16_t own_port = 0;
  Result<RawSocket> udp = open_udp_beside(*control, own_port);
  if (!udp) return fail(udp.error());
  uint16_t peer_port = 0;
  Result<std::unique_ptr<RawXdp>> xdp = open_xdp_if_wanted(*control, request, own_port);
  if (!xdp) return fail(xdp.error());
  if (auto done = write_all(*control, &request, sizeof request); !done) return fail(done.error());
  if (auto done = write_all(*control, &own_port, sizeof own_port); !done) return fail(done.error());
  if (auto got = read_all(*control, &peer_port, sizeof peer_port); !got) return fail(got.error());
  if (auto done = connect_udp_beside(*control, *udp, peer_port); !done) return fail(done.error());
  RawXdp* const sockets = xdp->get();
  if (sockets != nullptr) {
    if (auto done = sockets->connect(*control, peer_port); !done) return fail(done.error());
  }
  RawOutcome outcome;
  if (request.test == RawTest::kBandwidth) {
    outcome.sent =
        sockets != nullptr ? sockets->send_bandwidth(request) : send_bandwidth(*udp, request);
  } else {
    Result<RawLatency> latency = sockets != nullptr ? sockets->ping(request) : ping(*udp, request);
    if (!latency) return fail(latency.error());
    outcome.latency = *latency;
  }
  const char over = 1;
  if (auto done = write_all(*control, &over, sizeof over); !done) return fail(done.error());
  if (auto got = read_all(*control, &outcome.received, sizeof outcome.received); !got) {
    return fail(got.error());
  }
  return outcome;
}

}  // namespace heddle::bench
