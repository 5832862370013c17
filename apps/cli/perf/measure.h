// Measure: runs one test of `heddle perf` against a server and collects what both sides saw.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/service/client.h"
#include "apps/cli/service/stream.h"
#include "base/latency_histogram.h"

namespace heddle::cli {

struct PathShare {
  uint16_t path = 0;
  uint64_t payload_bytes = 0;
  uint8_t nic = 0;       // of this host, that the path goes by now
  uint8_t peer_nic = 0;  // and of the other
};

struct Measurement {
  TestOptions options;
  bool complete = false;                // false: a signal or a failure ended it early
  StreamResult sent;                    // bw
  std::optional<StreamResult> reverse;  // bw --bidirectional: what arrived here
  LatencyHistogram round_trips;         // lat
  // Whether the connection's counters below are known: not of one that broke at once.
  bool counted = false;
  uint64_t segments_sent = 0;
  uint64_t segments_repeated = 0;
  uint64_t segments_repeated_spuriously = 0;
  uint32_t segment_bytes = 0;  // payload of a full segment at the end of the test
  // IP packets: what passes, what both hosts' interfaces take, the smallest that was lost on the
  // way (0: none was).
  uint32_t packet_bytes = 0;
  uint32_t offered_packet_bytes = 0;
  uint32_t refused_packet_bytes = 0;
  Nanos smoothed_rtt;
  std::vector<PathShare> path_shares;
  Nanos cpu;    // of this process
  Json server;  // what the server says; null where it was not heard

  // Payload in both directions.
  uint64_t payload_bytes() const;
  // Messages that a check on either side found different.
  uint64_t wrong_messages() const;
};

// Called at intervals while a test runs.
using MeasureProgress = std::function<void(const std::string& text)>;

// Runs the test in `measurement.options`. On failure `measurement` holds what was seen until then.
// Errors: kCancelled (a signal came), what the server refuses, why the connection failed.
Result<void> measure(Client& client, Measurement& measurement, const MeasureProgress& progress);

// Number of messages of a size that are kept in flight: enough for 8 MiB, within limits.
uint32_t window_for(uint64_t message_bytes);

}  // namespace heddle::cli
