// Host facts: what hosts of a fabric say of themselves, and which host differs from the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/machine/firewall.h"
#include "acceptance/machine/machine_facts.h"
#include "acceptance/machine_clocks.h"
#include "acceptance/report.h"
#include "acceptance/run_counts.h"
#include "base/result.h"
#include "lab/lab.h"

namespace heddle::acceptance {

// One end of a link.
struct PortFacts {
  std::string device;
  uint32_t link = 0;
  bool found = false;
  bool carrier = false;
  uint32_t mtu_bytes = 0;
  // That the driver reports; 0: not known, as of ports without hardware, and of those of a lab.
  double rate_bits_per_s = 0;
};

struct PlaceFacts {
  std::string name;
  bool is_switch = false;
  std::vector<PortFacts> ports;
  NamedFacts facts = {};                  // of hosts: "offloads", "TCP"
  std::optional<ClockOffset> clock = {};  // none: not known, or of no host: they have one
  std::optional<Firewall> firewall = {};  // of hosts; none: not known
};

struct FabricFacts {
  std::vector<PlaceFacts> places;
  // Of each host its own, whose facts are among the host's; or one that all hosts share.
  std::vector<MachineFacts> machines;
  bool shared = false;  // all hosts are on one machine
};

// Of a lab's hosts and switches, in the order of the layout's places. Errors: kPermission,
// kUnavailable, kSystem.
Result<std::vector<PlaceFacts>> read_lab_facts(const lab::Lab& lab);

// Counters of the devices of a lab's hosts and switches, and of this machine's RDMA ports, which
// all of its hosts share. Errors: as read_lab_facts().
Result<std::vector<PlaceCounts>> read_lab_counts(const lab::Lab& lab);

// Of the host in whose network this process is: "links", what `ip -j link` prints, "facts" by name,
// and "firewall", where it is known. Errors: kUnavailable, kSystem.
Result<Json> read_own_facts(const std::vector<std::string>& devices);

// A row for each fact: what all hosts have, or a warning for each host that differs from most, or
// one of all hosts where no value is that of most; and one for each host that does not have all of
// them, as with an older heddle.
std::vector<Row> compare_facts(const std::vector<PlaceFacts>& places);

// Rows of clocks that are apart or not known, and one of the others; none where no host has one of
// its own. Three or more are compared with their median, unless most are apart from it; fewer with
// this machine's.
std::vector<Row> compare_clocks(const std::vector<PlaceFacts>& places);

// Parts of reading, public for tests: from `ip -j link` and from `ethtool -k`.
Result<std::vector<PortFacts>> ports_of(const std::string& document,
                                        const std::vector<std::string>& devices);
std::string offloads_of(const std::string& features);

}  // namespace heddle::acceptance
