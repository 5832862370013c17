// See switch_shape.h.
#include "topology/switch_shape.h"

#include <algorithm>

#include "topology/topology.h"

namespace heddle::topology {
namespace {

constexpr uint32_t kEthernetBytes = 38;  // header, check sequence, preamble and gap

}  // namespace

std::optional<Balancing> balancing_named(std::string_view name) {
  const auto* const found = std::find(kBalancingNames.begin(), kBalancingNames.end(), name);
  if (found == kBalancingNames.end()) return std::nullopt;
  return static_cast<Balancing>(found - kBalancingNames.begin());
}

uint32_t full_packet_bytes(const LinkShape& link) { return link.mtu_bytes + kEthernetBytes; }

Bytes pause_headroom(const LinkShape& link) {
  const Bytes full = {full_packet_bytes(link)};
  const Nanos until_stopped = 2 * transmit_time(full, link.rate) + 2 * link.delay +
                              2 * transmit_time({kPauseFrameBytes}, link.rate);
  return bytes_within(until_stopped + nanos(1), link.rate) + full;
}

PauseLimits pause_limits(const SwitchShape& shape, uint32_t ports, const LinkShape& link) {
  PauseLimits limits;
  limits.headroom = pause_headroom(link);
  const uint64_t share = shape.buffer.count / ports;
  const auto less = [](uint64_t from, uint64_t what) {
    return Bytes{from > what ? from - what : 0};
  };
  limits.xoff = shape.xoff.count > 0 ? shape.xoff : less(share, limits.headroom.count);
  const uint64_t two = 2 * uint64_t{full_packet_bytes(link)};
  limits.xon = shape.xon.count > 0 ? shape.xon : less(limits.xoff.count, two);
  return limits;
}

}  // namespace heddle::topology
