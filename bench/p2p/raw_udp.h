// Raw UDP: what the sockets of this host carry with no protocol on top: the limit that heddle's
// figures stand beside. A sender gathers a 40-byte header before each segment's payload and sends
// as many segments a call as fit; the receiver puts the payload where the header says. Nothing is
// acknowledged, nothing repeated. raw_udp_main.cc is the program.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace heddle::bench {

enum class RawTest : uint32_t { kBandwidth = 1, kLatency = 2 };

// How the receiver brings payload to its place.
enum class RawPlacing : uint32_t {
  kCopy = 1,   // received into a staging buffer, then copied once
  kPlace = 2,  // scattered to where the next segments are expected
};

// What the client asks of the server, sent as it stands over a TCP connection; both ends are the
// same program on the same kind of machine.
struct RawRequest {
  static constexpr uint32_t kMagic = 0x52617731;
  uint32_t magic = kMagic;
  RawTest test = RawTest::kBandwidth;
  RawPlacing placing = RawPlacing::kCopy;
  uint32_t datagram_bytes = 8972;  // UDP payload of a segment, its header included
  uint32_t seconds = 5;
  uint32_t memory_mebibytes = 4;  // that payload is read from and placed in, over and over
  uint32_t sleep = 0;             // 1: wait in the kernel instead of spinning
  uint32_t message_bytes = 64;    // latency
};

// What the receiver counted.
struct RawReceived {
  uint64_t payload_bytes = 0;
  uint64_t datagrams = 0;
  uint64_t nanos = 0;  // from the first to the last arrival
  uint64_t calls = 0;
  uint64_t in_place_bytes = 0;
  uint64_t dropped = 0;    // by the kernel: the receive queue was full
  uint64_t cpu_nanos = 0;  // of the receiving thread
};

struct RawSent {
  uint64_t payload_bytes = 0;
  uint64_t calls = 0;
  uint64_t refused_calls = 0;
  uint64_t nanos = 0;
  uint64_t cpu_nanos = 0;
};

// Half round trips.
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
