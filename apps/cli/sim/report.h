// The output of `heddle sim` for a run: as text, and as one JSON document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "simulator/flow_run.h"
#include "simulator/series.h"
#include "topology/htsim_topology.h"

namespace heddle::cli {

// What the run was asked for and what it cost.
struct SimFacts {
  std::string topology;
  std::string workload;
  simulator::FlowRunOptions options;
  std::optional<topology::HtsimLinkUse> links;  // of a .topo
  Nanos until = Nanos::never();
  double wall_s = 0;
  bool stopped = false;  // by a signal, before all flows had ended
};

// `series` has been sampled to the run's end; its bins, if any, are printed as well.
std::string sim_text(const simulator::FlowRun& run, const simulator::Series& series,
                     const SimFacts& facts);
// What was asked for, by the names that it has in the document; null is what was left to the
// program, or to the topology file.
nlohmann::json sim_options(const SimFacts& facts);
nlohmann::json sim_document(const simulator::FlowRun& run, const simulator::Series& series,
                            const SimFacts& facts);

}  // namespace heddle::cli
