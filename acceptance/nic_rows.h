// NIC rows: state, MTU, rate, offloads and settings of the driver of every NIC of the hosts, beside
// those of the NIC of the same name on the other hosts. Pure functions.
#pragma once

#include <vector>

#include "acceptance/machine/machine_facts.h"
#include "acceptance/report.h"

namespace heddle::acceptance {

// A warning for each NIC that differs from most of its name, or one of all where most have no value
// in common, and for each host without one that most hosts have; and a row of the others for each
// check. A NIC that is tested has rows of its own elsewhere, but a say here; settings of its driver
// are judged here alone. Hosts with an older heddle are left out.
std::vector<Row> nic_rows(const std::vector<MachineFacts>& machines);

}  // namespace heddle::acceptance
