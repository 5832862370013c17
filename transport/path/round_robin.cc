// The next path number in a circle of 65,536.
#include "transport/path/round_robin.h"

namespace heddle::transport {

uint32_t RoundRobin::select(const UsablePaths& usable, Random& /*random*/) {
  uint32_t chosen = 0;
  uint32_t least_ahead = UINT32_MAX;
  for (uint32_t i = 0; i < usable.size(); ++i) {
    const auto ahead = static_cast<uint16_t>(usable[i].path - last_ - 1);
    if (ahead < least_ahead) {
      least_ahead = ahead;
      chosen = i;
    }
  }
  last_ = usable[chosen].path;
  return chosen;
}

void RoundRobin::on_ack(uint16_t /*path*/, const PathSample& /*sample*/, Bytes /*acked*/) {}

std::unique_ptr<Selector> make_round_robin() { return std::make_unique<RoundRobin>(); }

}  // namespace heddle::transport
