// Probes a fabric between its hosts and infers what connects them: rounds of probe_hosts.h, each
// planned by probing/next_tasks.h. `heddle probe` calls it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "acceptance/fabric.h"
#include "acceptance/probe_hosts.h"
#include "base/nanos.h"
#include "base/result.h"
#include "probing/found.h"
#include "probing/infer.h"
#include "probing/next_tasks.h"

namespace heddle::acceptance {

struct ProbeFabricOptions {
  probing::FirstTasks first;
  bool measures_rates = true;  // by trains
  ProbeHostsOptions hosts;
  probing::NameBook names;
  std::function<void(const std::string&)> progress = [](const std::string& /*text*/) {};
};

struct ProbedFabric {
  probing::FoundFabric found;
  uint64_t packets = 0;
  uint32_t rounds = 0;
  Nanos took;
};

// Between NICs of at least two hosts of the fabric. Errors: those of ProbeHosts; kInvalid for
// fewer.
Result<ProbedFabric> probe_fabric(const Fabric& fabric, const std::vector<probing::ProbedNic>& nics,
                                  const ProbeFabricOptions& options);

}  // namespace heddle::acceptance
