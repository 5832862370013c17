// Raw UDP: the performance of this host's sockets without a protocol, as the limit for heddle. A
// sender gathers a 40-byte header before each segment's payload and sends as many segments in a
// call as fit; the receiver places the payload as its header says. There are no acknowledgements
// and no retransmissions. raw_udp_main.cc is the program.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace heddle::bench {

enum class RawTest : uint32_t { kBandwidth = 1, kLatency = 2 };

// How the receiver places payload.
enum class RawPlacing : uint32_t {
  kCopy = 1,   // received into a staging buffer, then copied once
  kPlace = 2,  // scattered to where the next segments are expected
};

// The system calls of a latency test over UDP sockets.
enum class RawCallKind : uint32_t {
  kPlain = 0,  // send and recv
  kBatch = 1,  // sendmmsg and recvmmsg, of one message
  kRing = 2,   // io_uring
};

// The client's request to the server, sent as raw bytes over a TCP connection; both ends are the
// same program on the same kind of machine.
struct RawRequest {
  static constexpr uint32_t kMagic = 0x52617731;
  uint32_t magic = kMagic;
  RawTest test = RawTest::kBandwidth;
  RawPlacing placing = RawPlacing::kCopy;
  uint32_t datagram_bytes = 8972;  // UDP payload of a segment, with its header
  uint32_t seconds = 5;
  uint32_t memory_mebibytes = 4;  // from which payload is read and into which it is placed,
                                  // repeatedly
  uint32_t sleep = 0;             // 1: wait in the kernel instead of spinning
  uint32_t message_bytes = 64;    // latency
  uint32_t xdp = 0;               // 1: XDP sockets instead (raw_xdp.h)
  RawCallKind calls = RawCallKind::kPlain;
};

// The receiver's counters.
struct RawReceived {
  uint64_t payload_bytes = 0;
  uint64_t datagrams = 0;
  uint64_t nanos = 0;  // from the first to the last arrival
  uint64_t calls = 0;
  uint64_t in_place_bytes = 0;
  uint64_t dropped = 0;    // by the kernel, because the receive queue was full
  uint64_t cpu_nanos = 0;  // of the receiving thread
};

struct RawSent {
  uint64_t payload_bytes = 0;
  uint64_t calls = 0;
  uint64_t refused_calls = 0;
  uint64_t nanos = 0;
  uint64_t cpu_nanos = 0;
};

// One-way latency (RTT/2).
struct RawLatency {
  uint64_t rounds = 0;
  uint64_t lost = 0;
  double min_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double mean_us = 0;
};

struct RawOutcome {
  RawSent sent;
  RawReceived received;
  RawLatency latency;
};

// Serves clients one after another; returns only on an error, or after one client if `once`.
Result<void> serve_raw_udp(uint16_t port, bool once);

Result<RawOutcome> run_raw_udp(const std::string& host, uint16_t port, const RawRequest& request);

}  // namespace heddle::bench
