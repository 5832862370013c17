// StrangerBudget: what peers that proved no cluster key can make an endpoint hold, in bytes. Each
// that is accepted may grow to `each`, whatever it sends; with what all share, so many are accepted
// as stay within the options' stranger_bytes. The rest hear that the endpoint is full.
#pragma once

#include <cstdint>

#include "transport/options.h"

namespace heddle::transport {

struct StrangerBudget {
  uint64_t shared = 0;  // pools and queues of the endpoint, when peers have made them grow
  uint64_t each = 0;    // one connection

  uint64_t bytes(uint64_t connections) const { return shared + connections * each; }
};

StrangerBudget stranger_budget(const EndpointOptions& options);

// Whether one more may be accepted beside so many; with keys everybody has proved one.
bool admits_stranger(const EndpointOptions& options, bool keyed, uint32_t accepted);

}  // namespace heddle::transport
