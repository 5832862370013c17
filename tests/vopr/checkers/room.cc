// The conditions of a lossless fabric's guarantee: see room.h.
#include "tests/vopr/checkers/room.h"

#include <algorithm>
#include <string>

namespace heddle::vopr {

using simulator::Fate;

namespace {

bool may_come_beyond(const FaultOptions& faults) {
  return faults.steady.duplicate_per_million > 0 || faults.steady.reorder_per_million > 0 ||
         faults.outages > 0 || faults.one_stays || faults.rate_changes > 0;
}

}  // namespace

bool judge_room(const Options& options, const simulator::Network& network, Report& report) {
  const topology::Topology& topology = network.topology();
  if (!options.fabric.lossless() || topology.switches.empty()) return false;
  if (may_come_beyond(options.faults)) return false;
  const simulator::FateCounts& fates = network.fates();
  if (fates[Fate::kHopLimit] > 0 || fates[Fate::kTooLarge] > 0) return false;
  if (const uint64_t full = fates[Fate::kQueueFull]; full > 0) {
    report.fail(std::to_string(full) + " packets found no room in a lossless fabric");
  }
  return true;
}

}  // namespace heddle::vopr
