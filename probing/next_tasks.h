// Next tasks: what to probe. First each flow of the chosen pairs; then trains over each link; then
// the flows of suspicions, hop by hop, where the observations fit several places.
#pragma once

#include <cstdint>
#include <vector>

#include "probing/found.h"
#include "probing/observations.h"
#include "probing/tasks.h"

namespace heddle::probing {

struct FirstTasks {
  uint16_t first_port = 0;
  uint16_t entropies = 0;   // source ports of each pair
  uint32_t deliveries = 0;  // packets a flow that are to arrive
  uint32_t peers = 0;       // NICs that each NIC probes; 0: all of other hosts
};
std::vector<Task> first_tasks(const std::vector<ProbedNic>& nics, const FirstTasks& options);

// Trains over each direction of each link, on flows whose whole route is known.
std::vector<Task> train_tasks(const Observations& observations, const FoundFabric& found);

// Flows of lossy links that have several places, and of slow links, of which more trains are
// wanted. Empty where there are none.
std::vector<Task> doubt_tasks(const Observations& observations, const FoundFabric& found);

}  // namespace heddle::probing
