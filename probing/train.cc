// See train.h.
#include "probing/train.h"

#include <algorithm>

#include "probing/params.h"

namespace heddle::probing {

BitsPerSec train_rate(std::span<const TrainArrival> arrivals, uint32_t sent, Bytes packet) {
  Nanos first = Nanos::never();
  Nanos last{INT64_MIN};
  uint64_t packets = 0;
  for (const TrainArrival& arrival : arrivals) {
    if (arrival.number < sent / 2) continue;
    first = std::min(first, arrival.at);
    last = std::max(last, arrival.at);
    ++packets;
  }
  if (packets < params::kLeastTrainArrivals || last <= first) return {};
  return rate_of({(packets - 1) * packet.count}, last - first);
}

}  // namespace heddle::probing
