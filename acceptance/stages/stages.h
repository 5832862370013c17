// Stages of an acceptance test. Each adds rows, commands and data to its report; it returns an
// error only if it could not measure.
#pragma once

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

// Facts of hosts and ports beside the topology and beside each other: who differs.
Result<void> run_inventory(Session& session, StageReport& report);
// Checked payload from every host to every host, the MTU of the path, and the number of routes.
Result<void> run_reach(Session& session, StageReport& report);
// Rounds of disjoint pairs: goodput and latency, plain sockets beside them; then every link's rate.
Result<void> run_pairs(Session& session, StageReport& report);
// All-reduces over all hosts: bus bandwidth beside the fabric's bound. Records them.
Result<void> run_collectives(Session& session, StageReport& report);
// Hosts that all send at once: to one another, and to one; a bystander's latency meanwhile.
Result<void> run_stress(Session& session, StageReport& report);
// Steps of training on all hosts beside what the fabric allows, and ResNet-18 in PyTorch where it
// is there. Records them.
Result<void> run_training(Session& session, StageReport& report);
// The recorded collectives: the communication matrix beside the expected one, and a diagnosis.
Result<void> run_traffic(Session& session, StageReport& report);

}  // namespace heddle::acceptance
