// See probe_fabric.h.
#include "acceptance/probe_fabric.h"

#include <algorithm>

#include "base/clocks.h"

namespace heddle::acceptance {
namespace {

bool has_two_hosts(const std::vector<probing::ProbedNic>& nics) {
  return std::any_of(nics.begin(), nics.end(),
                     [&](const probing::ProbedNic& nic) { return nic.host != nics.front().host; });
}

}  // namespace

Result<ProbedFabric> probe_fabric(const Fabric& fabric, const std::vector<probing::ProbedNic>& nics,
                                  const ProbeFabricOptions& options) {
  if (!has_two_hosts(nics)) {
    return fail(ErrorCode::kInvalid, "cannot probe", "probes go between hosts, and this is one",
                "give two or more");
  }
  const Nanos begun = steady_now();
  const ProbeHosts hosts(fabric, options.hosts);
  probing::Observations all{.nics = nics, .flows = {}};
  ProbedFabric probed;
  const auto round = [&](const std::vector<probing::Task>& tasks, bool in_turn) -> Result<void> {
    if (tasks.empty()) return {};
    ++probed.rounds;
    if (auto done = hosts.run(tasks, in_turn, all); !done) return done;
    probed.found = probing::infer(all, options.names);
    return {};
  };
  options.progress("routes, hop by hop");
  if (auto done = round(probing::first_tasks(nics, options.first), false); !done) {
    return fail(done.error());
  }
  if (options.measures_rates) {
    options.progress("rates of links");
    const auto tasks = probing::train_tasks(all, probed.found);
    if (auto done = round(tasks, true); !done) return fail(done.error());
  }
  options.progress("places of faults");
  const auto tasks = probing::doubt_tasks(all, probed.found);
  if (auto done = round(tasks, true); !done) return fail(done.error());
  probed.packets = all.packets;
  probed.took = steady_now() - begun;
  return probed;
}

}  // namespace heddle::acceptance
