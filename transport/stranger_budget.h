// StrangerBudget: what peers that proved no cluster key can make an endpoint hold, in bytes. Each
// that is accepted may grow to its charge, whatever it sends; with what all share, so many are
// accepted as stay within the options' stranger_bytes. The rest hear that the endpoint is full.
#pragma once

#include <cstdint>

#include "transport/options.h"

namespace heddle::transport {

struct StrangerBudget {
  uint64_t shared = 0;  // pools and queues of the endpoint, when peers have made them grow
  uint64_t each = 0;    // one connection, of a peer that posts as many receives as this side may

  uint64_t bytes(uint64_t connections) const { return shared + connections * each; }
};

StrangerBudget stranger_budget(const EndpointOptions& options);

// What the connection of a peer may take that announces so many posted receives.
uint32_t stranger_charge(const EndpointOptions& options, uint32_t max_posted);

// Whether a peer of this charge may be accepted beside others that were charged `charged` bytes;
// with keys every peer has proved one.
bool admits_stranger(const EndpointOptions& options, bool keyed, uint64_t charged, uint32_t charge);

}  // namespace heddle::transport
