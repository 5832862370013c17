// See report_fabric.h.
#include "acceptance/report_fabric.h"

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/fabric_bounds.h"
#include "acceptance/link_names.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

// Whether a row that is not fine is about a place of this name.
bool is_named(const Report& report, const std::string& name) {
  for (const StageReport& stage : report.stages) {
    if (stage.name == kRestStage) continue;  // what it leaves out was named before
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
    report.nodes.push_back({name, tiers[i]});
  }
  for (uint32_t i = 0; i < fabric.links.size(); ++i) {
    const topology::Link& link = fabric.links[i];
    const CarriedLoad& load = session.seen_loads()[i];
    report.links.push_back({topology::node_name(fabric, link.a),
                            topology::node_name(fabric, link.b), topology::link_label(fabric, i),
                            static_cast<double>(link.shape.rate.count), load.forward,
                            load.backward});
    report.links.back().counted = load.known;
  }
  name_places(report);
}

void name_places(Report& report) {
  for (NodeReport& node : report.nodes) node.named = is_named(report, node.name);
  for (LinkReport& link : report.links) {
    link.named = is_named(report, link.label) ||
                 is_named(report, direction_name(link.label, true)) ||
                 is_named(report, direction_name(link.label, false));
  }
}

}  // namespace heddle::acceptance
