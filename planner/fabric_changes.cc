// See fabric_changes.h.
#include "planner/fabric_changes.h"

#include <algorithm>
#include <vector>

#include "planner/params.h"

namespace heddle::planner {
namespace {

using topology::Link;
using topology::LinkShape;
using topology::NodeKind;
using topology::Topology;

using params::kMarkFrom;
using params::kMarkingRate;
using params::kMarkPerMillion;
using params::kMarkRamp;

Bytes times(Bytes bytes, uint64_t factor) {
  return bytes.count > UINT64_MAX / factor ? Bytes{UINT64_MAX} : Bytes{bytes.count * factor};
}

void mark_as_dcqcn(LinkShape& shape) {
  const double part = static_cast<double>(shape.rate.count) / kMarkingRate;
  const uint64_t packet = topology::full_packet_bytes(shape);
  // Where links are slow, a threshold below a packet would mark all of them.
  shape.ecn_threshold.count = std::max(packet, static_cast<uint64_t>(kMarkFrom * part));
  shape.ecn_ramp.count = std::max(8 * packet, static_cast<uint64_t>(kMarkRamp * part));
  shape.ecn_ramp_per_million = kMarkPerMillion;
}

}  // namespace

bool between_switches(const Link& link) {
  return link.a.kind == NodeKind::kSwitch && link.b.kind == NodeKind::kSwitch;
}

bool has_rates(const Topology& topology) {
  return std::all_of(topology.links.begin(), topology.links.end(),
                     [](const Link& link) { return link.shape.rate.count > 0; });
}

Topology faster(Topology topology, WhichLinks which, uint64_t factor) {
  std::vector<bool> scaled(topology.switches.size(), false);
  for (Link& link : topology.links) {
    if (which == WhichLinks::kHosts && between_switches(link)) continue;
    if (which == WhichLinks::kSwitches && !between_switches(link)) continue;
    link.shape.rate.count *= factor;
    link.shape.queue = times(link.shape.queue, factor);
    link.shape.ecn_threshold = times(link.shape.ecn_threshold, factor);
    link.shape.ecn_ramp = times(link.shape.ecn_ramp, factor);
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind == NodeKind::kSwitch) scaled[end.index] = true;
    }
  }
  for (size_t i = 0; i < scaled.size(); ++i) {
    if (!scaled[i]) continue;
    topology::SwitchShape& shape = topology.switches[i].shape;
    for (Bytes* each : {&shape.buffer, &shape.reserve, &shape.xoff, &shape.xon}) {
      *each = times(*each, factor);
    }
  }
  return topology;
}

Topology on_one_switch(const Topology& topology) {
  Topology one{.hosts = topology.hosts, .nics = topology.nics, .switches = {}, .links = {}};
  one.switches.push_back({.name = "switch", .hash_seed = 1, .shape = {}});
  for (const Link& link : topology.links) {
    if (between_switches(link)) continue;
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind != NodeKind::kNic) continue;
      one.links.push_back({.a = end,
                           .b = {NodeKind::kSwitch, 0},
                           .shape = link.shape,
                           .forward = {},
                           .backward = {}});
    }
  }
  return one;
}

Topology lossless(Topology topology) {
  std::vector<uint64_t> buffers(topology.switches.size());
  for (Link& link : topology.links) {
    mark_as_dcqcn(link.shape);
    // A switch divides its memory equally: the port that needs most decides.
    const uint64_t needed = kLosslessRoundTrips * topology::pause_headroom(link.shape).count;
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind == NodeKind::kSwitch) buffers[end.index] = std::max(buffers[end.index], needed);
    }
  }
  const std::vector<uint32_t> ports = topology::switch_ports(topology);
  for (size_t i = 0; i < topology.switches.size(); ++i) {
    topology::SwitchShape& shape = topology.switches[i].shape;
    shape = {.buffer = {buffers[i] * ports[i]}, .lossless = true, .balancing = shape.balancing};
  }
  return topology;
}

}  // namespace heddle::planner
