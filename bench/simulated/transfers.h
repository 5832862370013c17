// Transfers: flows that share a simulated fabric, measured over a span after a warm-up.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulated/bulk_flow.h"
#include "topology/topology.h"

namespace heddle::bench {

struct FlowEnds {
  uint32_t from = 0;  // NICs
  uint32_t to = 0;
};

struct TransferOptions {
  BulkFlowOptions flow;  // of all; its ends and port are not looked at
  std::vector<FlowEnds> flows;
  Nanos warm_up = millis(500);
  Nanos span = seconds(2);
  uint64_t seed = 1;
};

struct TransferResult {
  double goodput_mbits_per_s = 0;        // payload that arrived, once
  uint64_t longest_gap_ms = 0;           // without a message
  std::vector<uint64_t> interval_bytes;  // each 20 ms
  uint64_t segments_sent = 0;            // warm-up included, as all below
  uint64_t segments_repeated = 0;
  uint64_t segments_repeated_needlessly = 0;
  uint32_t segment_bytes = 0;
  double smoothed_rtt_us = 0;
  uint64_t window_bytes = 0;
  uint64_t messages_failed = 0;
};

// One result a flow, in their order.
std::vector<TransferResult> run_transfers(const topology::Topology& topology,
                                          const TransferOptions& options);

}  // namespace heddle::bench
