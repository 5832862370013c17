// The slowest flows of a run, and where in the fabric they may have lost their time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/flow_run.h"
#include "simulator/series.h"

namespace heddle::cli {

// Of all links that a flow may have crossed.
struct WorstLink {
  simulator::LinkId link = 0;
  uint64_t drops = 0;       // at this link during the flow, from bins
  uint64_t queue_peak = 0;  // bytes
};

struct SlowFlow {
  uint32_t flow = 0;               // of the workload
  std::optional<WorstLink> worst;  // nothing where all queues were empty
};

// At most `most` of those that have begun: first those that did not arrive, then by how long they
// took. Links without bins are judged by the whole run.
std::vector<SlowFlow> slowest_flows(const simulator::FlowRun& run, const simulator::Series& series,
                                    size_t most);

}  // namespace heddle::cli
