// What htsim's .topo files leave to the command line: options of `heddle sim` about links and
// switches. Topology files of heddle's own say it themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "topology/htsim_topology.h"

namespace heddle::cli {

struct FabricOptions {
  topology::HtsimLinkUse use{.mtu_bytes = 4'154};  // payload of 4,086 bytes, as htsim's
  std::string queue;
  std::string ecn_threshold;
  std::string ecn_min;
  std::string ecn_max;
  std::string ecn_max_probability;
  std::string buffer;
  std::string alpha;
  std::string xoff;
  std::string xon;
  std::string balancing = "ecmp";
  std::string flowlet_gap;
  std::vector<const CLI::Option*> all;  // of these options
};

// `options` must outlive the command.
void add_fabric_options(CLI::App& sim, FabricOptions& options);

// Reads what was given into `use`. Errors: kInvalid; also where something was given and the
// topology is not of htsim.
Result<void> take_fabric_options(FabricOptions& options, bool of_htsim);

}  // namespace heddle::cli
