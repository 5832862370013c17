// Host facts: what hosts of a fabric say of themselves, and which host differs from the others.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/report.h"
#include "base/result.h"
#include "lab/lab.h"

namespace heddle::acceptance {

// One end of a link.
struct PortFacts {
  std::string device;
  bool found = false;
  bool carrier = false;
  uint32_t mtu_bytes = 0;
};

struct PlaceFacts {
  std::string name;
  bool is_switch = false;
  std::vector<PortFacts> ports;                            // as in the lab's layout
  std::vector<std::pair<std::string, std::string>> facts;  // of hosts: "offloads", "TCP"
};

// Of hosts and switches, in the order of the layout's places. Errors: kPermission, kUnavailable,
// kSystem.
Result<std::vector<PlaceFacts>> read_facts(const lab::Lab& lab);

// A row for each fact: what all hosts have, or a warning for each host that differs from most.
std::vector<Row> compare_facts(const std::vector<PlaceFacts>& places);

// Parts of read_facts(), public for tests: from `ip -j link` and from `ethtool -k`.
Result<std::vector<PortFacts>> ports_of(const std::string& document,
                                        const std::vector<std::string>& devices);
std::string offloads_of(const std::string& features);

}  // namespace heddle::acceptance
