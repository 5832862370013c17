// Members: the ranks of a communicator: its number, this process's rank, and the addresses of all
// ranks.
#pragma once

#include <algorithm>
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
  // All ranks receive at one address: then they are on one host.
  bool share_address() const {
    return std::ranges::all_of(addresses, [this](const transport::Address& each) {
      return each.host == addresses.front().host;
    });
  }
};

// All ranks of a run.
inline Members members_of(const Group& group) { return {group.job, group.rank, group.addresses}; }

}  // namespace heddle::collectives
