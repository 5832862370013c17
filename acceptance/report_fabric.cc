// See report_fabric.h.
#include "acceptance/report_fabric.h"

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/fabric_bounds.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

// Whether a row that is not fine is about a place of this name.
bool is_named(const Report& report, const std::string& name) {
  for (const StageReport& stage : report.stages) {
    for (const Row& row : stage.rows) {
      if (row.grade != Grade::kOk && row.where == name) return true;
    }
  }
  return false;
}

}  // namespace

void add_fabric(const Session& session, Report& report) {
  const topology::Topology& fabric = session.topology();
  const std::vector<uint32_t> tiers = tiers_of(fabric);
  for (uint32_t i = 0; i < tiers.size(); ++i) {
    const std::string& name = i < fabric.hosts.size()
                                  ? fabric.hosts[i].name
                                  : fabric.switches[i - fabric.hosts.size()].name;
    report.nodes.push_back({name, tiers[i], is_named(report, name)});
  }
  for (uint32_t i = 0; i < fabric.links.size(); ++i) {
    const topology::Link& link = fabric.links[i];
    const std::string a = topology::node_name(fabric, link.a);
    const std::string b = topology::node_name(fabric, link.b);
    const CarriedLoad& load = session.seen_loads()[i];
    const std::string label = topology::link_label(fabric, i);
    const bool named = is_named(report, label) || is_named(report, a + " to " + b) ||
                       is_named(report, b + " to " + a);
    report.links.push_back({a, b, label, static_cast<double>(link.shape.rate.count), load.forward,
                            load.backward, named});
  }
}

}  // namespace heddle::acceptance
