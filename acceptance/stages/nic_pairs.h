// NIC pairs: which NICs of two hosts are tested together: from each but the first, whose pairs the
// stages test without them, to that of the same name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "acceptance/fabric.h"
#include "acceptance/fabric_bounds.h"

namespace heddle::acceptance {

struct NicPair {
  HostPair pair;  // with the numbers of the two NICs
  HostNic from;
  HostNic to;

  bool planned() const { return from.planned && to.planned; }
};

// NICs of all hosts, as Fabric::nics() has them.
std::vector<std::vector<HostNic>> nics_of(const Fabric& fabric);

// By the NICs' name.
std::map<std::string, std::vector<NicPair>> nic_pairs(const std::vector<std::vector<HostNic>>& nics,
                                                      const std::vector<HostPair>& pairs);
// Hosts without a NIC of the name of another host's further one: those are not tested over it.
std::map<std::string, std::vector<uint32_t>> hosts_without_nic(
    const std::vector<std::vector<HostNic>>& nics);

}  // namespace heddle::acceptance
