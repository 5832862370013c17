// Members: who takes part in a communicator.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/group.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

struct Members {
  uint64_t communicator = 0;  // a number that these ranks share and no earlier communicator had
  uint32_t rank = 0;
  std::vector<transport::Address> addresses;  // of all ranks' endpoints, in the order of ranks

  uint32_t size() const { return static_cast<uint32_t>(addresses.size()); }
};

// All ranks of a run.
inline Members members_of(const Group& group) { return {group.job, group.rank, group.addresses}; }

}  // namespace heddle::collectives
