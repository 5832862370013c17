// See fabric_tuning.h.
#include "jobs/fabric_tuning.h"

#include <cstdint>

namespace heddle::jobs {

collectives::Tuning fabric_tuning(const topology::Job& job, const FabricCosts& costs) {
  collectives::Tuning tuning;
  const int64_t one_way_ns = costs.one_way.count;
  const int64_t turn_ns = costs.turn.count;
  tuning.latency_ns = static_cast<uint32_t>(one_way_ns + 4 * turn_ns);
  tuning.large_latency_ns = static_cast<uint32_t>(3 * one_way_ns + 6 * turn_ns);
  const uint64_t rate = costs.rate.count;
  if (rate > 0) tuning.send_ps_per_byte = static_cast<uint32_t>(8'000'000'000'000 / rate);
  tuning.reduce_ps_per_byte = 0;
  if (job.chunk.count > 0) tuning.chunk_bytes = static_cast<uint32_t>(job.chunk.count);
  return tuning;
}

}  // namespace heddle::jobs
