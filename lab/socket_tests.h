// Socket tests: what plain sockets of the kernel reach between two hosts, to compare with. TCP and
// UDP, bandwidth and latency: the tests and the figures that qperf calls tcp_bw, tcp_lat, udp_bw
// and udp_lat. Each end is a function to be called in a process on a host of a lab, or on a
// machine.
//
// The client connects to the server's TCP port and drives it by lines: "udp PORT" names its UDP
// port, "ping" is answered with a line, "stream" lets it connect once more and send, "count" asks
// for the bytes of the stream or of the datagrams since. Short datagrams come back.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle::lab {

// How long each test takes, one after the other, from the moment that both ends are connected: then
// clients that begin at once on several hosts have the same test at the same time.
struct SocketPlan {
  Nanos latency;       // of tcp_lat, and of udp_lat
  Nanos stream;        // tcp_bw; zero: it is not tested
  Nanos datagrams;     // udp_bw; zero: UDP is not tested
  BitsPerSec offered;  // by udp_bw; zero: as fast as this host can

  Nanos span() const;
};

// 0 where a test has no figure: nothing came back.
struct SocketFigures {
  double tcp_bits_per_s = 0;  // received
  double tcp_us = 0;          // one-way latency (RTT/2), median
  double tcp_us_p99 = 0;
  double udp_sent_bits_per_s = 0;
  double udp_received_bits_per_s = 0;
  double udp_us = 0;
};

// Listens on an IPv4 or IPv6 address and serves one client, until it leaves or for `limit`. Errors:
// kInvalid, kInUse, kTimeout if none comes, kSystem.
Result<void> serve_socket_tests(const std::string& address, uint16_t port, Nanos limit);

// Connects, repeatedly until the other end listens, and runs the tests. The stream has cubic as its
// congestion control where the kernel has it: other kernels' defaults differ. Errors: kInvalid,
// kTimeout where the other end falls silent, kSystem.
Result<SocketFigures> run_socket_tests(const std::string& address, uint16_t port,
                                       const SocketPlan& plan);

}  // namespace heddle::lab
