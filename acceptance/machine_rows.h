// Machine rows: what the inventory says of machine facts, of clocks that a program sets and of
// firewalls, host by host.
#pragma once

#include <vector>

#include "acceptance/host_facts.h"
#include "acceptance/report.h"

namespace heddle::acceptance {

// A host that does not answer.
Row silent_row(const std::string& host, const std::string& complaint);
// NICs and GPUs whose PCIe links are below their maximum, also where all are alike.
std::vector<Row> pcie_rows(const std::vector<MachineFacts>& machines);
// Hosts with GPUs, above which or above whose NICs bridges redirect, also where all are alike.
std::vector<Row> acs_rows(const std::vector<MachineFacts>& machines);
// Hosts whose clock no program sets, or that are far off by what it says.
std::vector<Row> clock_rows(const std::vector<MachineFacts>& machines);
// Hosts whose firewall may drop the packets of the test.
std::vector<Row> firewall_rows(const std::vector<PlaceFacts>& places);
// For information: what a machine has that all hosts share.
std::vector<Row> shared_rows(const MachineFacts& machine);

}  // namespace heddle::acceptance
