// Measurement: one test of bandwidth or latency against a server, and what both sides measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/latency_histogram.h"
#include "measure/client.h"
#include "measure/progress.h"
#include "measure/stream.h"

namespace heddle::measure {

struct PathShare {
  uint16_t path = 0;
  uint64_t payload_bytes = 0;
  uint8_t nic = 0;       // of this host, that the path goes by now
  uint8_t peer_nic = 0;  // and of the other
  uint64_t segments_lost = 0;
  Nanos smoothed_rtt{};
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
  uint64_t segments_retransmitted = 0;
  uint64_t segments_retransmitted_spuriously = 0;
  uint64_t segments_marked = 0;  // by ECN, as the receiver's acknowledgements report
  uint32_t segment_bytes = 0;    // payload of a full segment at the end of the test
  // IP packets: what passes, what both hosts' interfaces take, the smallest that was lost on the
  // way (0: none was).
  uint32_t packet_bytes = 0;
  uint32_t offered_packet_bytes = 0;
  uint32_t refused_packet_bytes = 0;
  Nanos smoothed_rtt;
  std::vector<PathShare> path_shares;
  Nanos cpu;    // of this process
  Json server;  // the server's result; null where none arrived

  // Payload in both directions.
  uint64_t payload_bytes() const;
  // Messages that a check on either side found different.
  uint64_t wrong_messages() const;
};

// Runs the test in `measurement.options`. On failure `measurement` holds what was seen until then.
// Errors: kCancelled (a signal came), what the server refuses, why the connection failed.
Result<void> run_test(Client& client, Measurement& measurement, const Progress& progress);

// Number of messages of a size that are kept in flight: enough for 8 MiB, within limits.
uint32_t window_for(uint64_t message_bytes);

}  // namespace heddle::measure
