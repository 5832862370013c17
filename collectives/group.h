// Group: the ranks of a run that have found each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

using params::kMostRanks;

struct Group {
  uint32_t rank = 0;
  uint32_t size = 1;
  std::vector<transport::Address> addresses;  // of each rank's endpoint, as others reach it
  std::vector<std::string> hosts;             // the name of each rank's host
  uint64_t job = 0;                           // drawn by rank 0, the same on all ranks; never 0
};

}  // namespace heddle::collectives
