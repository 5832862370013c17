// StrangerBudget: limits the memory that peers without a proven cluster key can occupy. A charge is
// the bound of one such connection's memory; peers are accepted while the sum of charges and of the
// shared memory, of all engines, is within the option stranger_bytes. Others are refused (endpoint
// full).
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/options.h"

namespace heddle::transport {

struct StrangerBudget {
  uint64_t shared = 0;  // pools and queues of all engines, when peers have made them grow
  uint64_t each = 0;    // one connection, of a peer that posts as many receives as this side may

  uint64_t bytes(uint64_t connections) const { return shared + connections * each; }
};

StrangerBudget stranger_budget(const EndpointOptions& options);

// How many accepted handshakes an engine remembers of each half of their time (ReplayMemory).
// Peers without keys cannot exhaust it: the oldest are forgotten.
size_t replay_limit(const EndpointOptions& options);

// The bound of the memory of a peer's connection that advertises `max_posted` receives.
uint32_t stranger_charge(const EndpointOptions& options, uint32_t max_posted);

// Whether a peer of this charge may be accepted beside others that were charged `charged` bytes;
// with keys every peer has proved one.
bool admits_stranger(const EndpointOptions& options, bool keyed, uint64_t charged, uint32_t charge);

}  // namespace heddle::transport
