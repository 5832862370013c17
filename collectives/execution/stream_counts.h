// StreamCounts: how many messages a rank has posted to another on each channel since both counted
// the same. The n-th send of a channel meets its n-th receive, so before a connection serves
// another communicator each rank posts what it is short of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectives/params.h"

namespace heddle::collectives {

struct StreamCounts {
  // Channels of control messages, of messages between two ranks, and two of each lane.
  static constexpr size_t kChannels = 2 + 2 * size_t{params::kLanes};

  std::array<uint32_t, kChannels> sends{};  // modulo 2^32
  std::array<uint32_t, kChannels> receives{};
  bool operator==(const StreamCounts&) const = default;
};

}  // namespace heddle::collectives
