// RoceOptions: the configuration of the RoCE NICs of a FlowRun (roce_host.h). Defaults and their
// sources: roce/params.h.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/roce/params.h"

namespace heddle::simulator {

// DCQCN (Zhu et al., SIGCOMM 2015), by the names of its paper.
struct DcqcnOptions {
  Nanos cnp_interval = roce::params::kCnpInterval;                  // N
  Nanos alpha_timer = roce::params::kAlphaTimer;                    // K
  uint32_t gain_divisor = roce::params::kGainDivisor;               // 1 / g
  Nanos rate_timer = roce::params::kRateTimer;                      // T
  Bytes byte_counter = roce::params::kByteCounter;                  // B
  uint32_t fast_recovery_steps = roce::params::kFastRecoverySteps;  // F
  uint32_t additive_part = roce::params::kAdditivePart;  // R_AI is this part of the line rate
  uint32_t hyper_factor = roce::params::kHyperFactor;    // R_HAI / R_AI
  BitsPerSec least_rate = roce::params::kLeastRate;
};

struct RoceOptions {
  bool dcqcn = true;  // false: every queue pair sends at line rate
  DcqcnOptions congestion;
  // Payload of a full packet: the largest RDMA MTU up to this one that the fabric passes.
  uint32_t mtu_bytes = roce::params::kMtuBytes;
  Nanos ack_timeout = roce::params::kAckTimeout;
  uint32_t retries = roce::params::kRetries;
};

// Counts of all RoCE NICs of a run.
struct RoceCounters {
  uint64_t naks = 0;       // received by requesters
  uint64_t timeouts = 0;   // of requesters
  uint64_t cnps = 0;       // received by requesters
  uint64_t discarded = 0;  // packets out of order or received twice, discarded by responders
  uint64_t reordered = 0;  // packets that arrived behind one of their queue pair that left later
  uint64_t queue_pairs_failed = 0;
};

// The largest RDMA MTU up to `most` whose packets fit into IP packets of that size; at least 256.
uint32_t rdma_mtu(uint32_t most, uint32_t ip_mtu_bytes);

}  // namespace heddle::simulator
