// Transfers: flows that share a simulated fabric, measured over a span after a warm-up.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulated/bulk_flow.h"
#include "topology/topology.h"

namespace heddle::bench {

struct FlowEnds {
  uint32_t from = 0;  // NICs, as is `to`
  uint32_t to = 0;
};

struct TransferOptions {
  BulkFlowOptions flow;  // of all; its ends and port are ignored
  std::vector<FlowEnds> flows;
  Nanos warm_up = millis(500);
  Nanos span = seconds(2);
  uint64_t seed = 1;
};

struct TransferResult {
  double goodput_mbits_per_s = 0;        // delivered payload
  uint64_t longest_gap_ms = 0;           // without a complete message
  std::vector<uint64_t> interval_bytes;  // each 20 ms
  uint64_t segments_sent = 0;            // with the warm-up, as all below
  uint64_t segments_retransmitted = 0;
  uint64_t segments_retransmitted_spuriously = 0;
  uint32_t segment_bytes = 0;
  double smoothed_rtt_us = 0;
  uint64_t window_bytes = 0;
  uint64_t messages_failed = 0;
};

// One result for each flow, in the same order.
std::vector<TransferResult> run_transfers(const topology::Topology& topology,
                                          const TransferOptions& options);

}  // namespace heddle::bench
