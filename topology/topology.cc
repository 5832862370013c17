// Validation of topologies: users of a valid topology need no further checks.
#include "topology/topology.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace heddle::topology {
namespace {

Unexpected invalid(const std::string& subject, const std::string& why) {
  return fail(ErrorCode::kInvalid, "topology: " + subject, why);
}

bool exists(const Topology& topology, const Node& node) {
  return node.index <
         (node.kind == NodeKind::kNic ? topology.nics.size() : topology.switches.size());
}

bool sane(const LinkFaults& faults) {
  constexpr uint32_t kAll = 1'000'000;
  return faults.loss_per_million <= kAll && faults.duplicate_per_million <= kAll &&
         faults.corrupt_header_per_million <= kAll && faults.corrupt_payload_per_million <= kAll &&
         faults.reorder_per_million <= kAll && faults.reorder_min.count >= 0 &&
         faults.reorder_min <= faults.reorder_max;
}

Result<void> validate_link(const Topology& topology, size_t index) {
  const Link& link = topology.links[index];
  const std::string name = "link " + std::to_string(index);
  if (!exists(topology, link.a) || !exists(topology, link.b)) {
    return invalid(name, "it leads to a node that does not exist");
  }
  if (link.a == link.b) return invalid(name, "it leads from a node to itself");
  if (link.shape.mtu_bytes < 576) return invalid(name, "its MTU is below 576");
  if (link.shape.queue.count < link.shape.mtu_bytes + 64u) {
    return invalid(name, "its queue does not hold one full packet");
  }
  if (link.shape.ecn_ramp_per_million > 1'000'000) {
    return invalid(name, "it marks more packets than there are");
  }
  if (link.shape.delay.count < 0) return invalid(name, "its delay is negative");
  if (!sane(link.forward) || !sane(link.backward)) return invalid(name, "its faults make no sense");
  return {};
}

// The memory that a switch needs, added up over its ports.
struct SwitchNeeds {
  uint32_t ports = 0;
  uint64_t packets = 0;  // one for each port
  uint64_t packet = 0;   // the largest
  uint64_t before_xoff = 0;
  uint64_t headroom = 0;
  const char* wrong = nullptr;
};

void add_port(const SwitchShape& shape, uint32_t ports, const LinkShape& link, SwitchNeeds& needs) {
  const uint64_t full = full_packet_bytes(link);
  needs.packets += full;
  needs.packet = std::max(needs.packet, full);
  if (!shape.lossless || shape.buffer.count == 0) return;
  if (link.rate.count == 0) {
    needs.wrong = "it is lossless and has a link without a rate";
    return;
  }
  const PauseLimits limits = pause_limits(shape, ports, link);
  needs.before_xoff += limits.xoff.count;
  needs.headroom += limits.headroom.count;
  if (limits.xoff.count < full) {
    needs.wrong = "it is lossless, and pauses before a port has taken one full packet";
  } else if (limits.xon.count + full > limits.xoff.count) {
    needs.wrong = "it is lossless, and its 'xon' is less than a full packet below its 'xoff'";
  }
}

Result<void> validate_switch(const Switch& each, const SwitchNeeds& needs) {
  const auto wrong = [&each](const std::string& why) {
    return fail(ErrorCode::kInvalid, "topology: switch " + each.name, why,
                "give 'buffer' more, or correct 'alpha', 'reserve', 'xoff' and 'xon'");
  };
  const SwitchShape& shape = each.shape;
  if (shape.trims && shape.lossless) {
    return fail(ErrorCode::kInvalid, "topology: switch " + each.name,
                "it is lossless, so there is nothing to trim", "set 'pfc' or 'trimming', not both");
  }
  if (shape.alpha == 0 || shape.alpha_divisor == 0) return wrong("its alpha is zero");
  if (shape.buffer.count == 0) {
    return shape.lossless ? wrong("it is lossless and has no buffer") : Result<void>{};
  }
  if (needs.ports > 0 && shape.buffer.count / needs.ports < shape.reserve.count) {
    return wrong("its buffer is smaller than the reserves of its ports");
  }
  if (shape.buffer.count < needs.packets) {
    return wrong("its buffer does not hold a full packet of each port");
  }
  // A packet that no queue ever accepts would be retransmitted forever.
  const uint64_t shared = shape.buffer.count - needs.ports * shape.reserve.count;
  const uint64_t beyond = needs.packet - std::min(needs.packet, shape.reserve.count);
  if (!shape.lossless && static_cast<Uint128>(beyond) * shape.alpha_divisor >
                             static_cast<Uint128>(shared) * shape.alpha) {
    return wrong("its alpha gives a queue no room for a full packet, even while all is free");
  }
  if (!shape.lossless) return {};
  if (shape.reserve.count > 0) return wrong("it is lossless, and so has no use for a reserve");
  if (needs.wrong != nullptr) return wrong(needs.wrong);
  if (needs.before_xoff + needs.headroom > shape.buffer.count) {
    return wrong(
        "its buffer of " + std::to_string(shape.buffer.count) +
        " bytes does not hold what its ports may receive: " + std::to_string(needs.before_xoff) +
        " until they pause, and " + std::to_string(needs.headroom) + " before that is heeded");
  }
  return {};
}

Result<void> validate_switches(const Topology& topology) {
  const std::vector<uint32_t> ports = switch_ports(topology);
  std::vector<SwitchNeeds> needs(topology.switches.size());
  for (const Link& link : topology.links) {
    for (const Node& end : {link.a, link.b}) {
      if (end.kind == NodeKind::kNic) continue;
      needs[end.index].ports = ports[end.index];
      add_port(topology.switches[end.index].shape, ports[end.index], link.shape, needs[end.index]);
    }
  }
  for (size_t i = 0; i < needs.size(); ++i) {
    if (Result<void> valid = validate_switch(topology.switches[i], needs[i]); !valid) return valid;
  }
  return {};
}

}  // namespace

std::vector<uint32_t> switch_ports(const Topology& topology) {
  std::vector<uint32_t> ports(topology.switches.size());
  for (const Link& link : topology.links) {
    for (const Node& end : {link.a, link.b}) {
      if (end.kind == NodeKind::kSwitch) ++ports[end.index];
    }
  }
  return ports;
}

Result<void> validate(const Topology& topology) {
  std::vector<uint32_t> links_of_nic(topology.nics.size());
  for (size_t i = 0; i < topology.links.size(); ++i) {
    if (Result<void> result = validate_link(topology, i); !result) return result;
    for (const Node& end : {topology.links[i].a, topology.links[i].b}) {
      if (end.kind == NodeKind::kNic) ++links_of_nic[end.index];
    }
  }
  if (Result<void> valid = validate_switches(topology); !valid) return valid;
  for (size_t i = 0; i < topology.nics.size(); ++i) {
    const std::string name = "NIC " + std::to_string(i);
    if (topology.nics[i].host >= topology.hosts.size()) {
      return invalid(name, "it is in a host that does not exist");
    }
    if (links_of_nic[i] != 1) {
      return invalid(name, "it has " + std::to_string(links_of_nic[i]) + " links instead of one");
    }
  }
  for (size_t i = 0; i < topology.changes.size(); ++i) {
    const LinkChange& change = topology.changes[i];
    if (change.link >= topology.links.size() || change.at.count < 0 || !sane(change.faults)) {
      return invalid("change " + std::to_string(i),
                     "its link does not exist, its time is negative or its faults make no sense");
    }
  }
  for (size_t i = 0; i < topology.host_changes.size(); ++i) {
    const HostChange& change = topology.host_changes[i];
    if (change.host >= topology.hosts.size() || change.at.count < 0) {
      return invalid("host change " + std::to_string(i),
                     "its host does not exist or its time is negative");
    }
  }
  return {};
}

const std::string& node_name(const Topology& topology, const Node& node) {
  CHECK(exists(topology, node));
  return node.kind == NodeKind::kSwitch ? topology.switches[node.index].name
                                        : topology.hosts[topology.nics[node.index].host].name;
}

uint32_t nic_number(const Topology& topology, uint32_t nic) {
  CHECK(nic < topology.nics.size());
  uint32_t number = 0;
  for (uint32_t i = 0; i < nic; ++i) {
    if (topology.nics[i].host == topology.nics[nic].host) ++number;
  }
  return number;
}

}  // namespace heddle::topology
