// See network_figures.h.
#include "measure/network_figures.h"

#include <algorithm>

namespace heddle::measure {

Result<nccl::MeasuredNetwork> network_figures(std::span<const Measurement> measurements,
                                              size_t nics) {
  constexpr uint32_t kMedianPerMille = 500;
  nccl::MeasuredNetwork network;
  const Measurement* smallest = nullptr;
  for (const Measurement& each : measurements) {
    if (!each.complete) continue;
    if (each.options.test == "bw") {
      const BitsPerSec rate = rate_of({each.sent.payload_bytes}, each.sent.ended - each.sent.began);
      network.goodput = std::max(network.goodput, rate);
    } else if (smallest == nullptr ||
               each.options.message_bytes < smallest->options.message_bytes) {
      smallest = &each;
    }
  }
  if (network.goodput.count == 0 || smallest == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot save the network's figures",
                "that takes complete tests of both bandwidth and latency", "measure bw and lat");
  }
  network.one_way = smallest->round_trips.percentile(kMedianPerMille) / 2;
  if (nics < 2) network.connection_goodput = network.goodput;
  if (const Result<void> valid = nccl::validate(network); !valid) return fail(valid.error());
  return network;
}

}  // namespace heddle::measure
