// Delays of an operation's links, beside the usual link's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "insight/diagnosis/job_facts.h"

namespace heddle::insight {

using Link = std::pair<uint32_t, uint32_t>;  // ranks in the communicator: sender and receiver

// By link between two hosts, how much longer it took than the usual one would have for as many
// bytes, ns; empty where the operation does not say. Of clocks with errors as much as is sure.
std::map<Link, double> link_delays(const JobFacts& facts, const Operation& operation);

}  // namespace heddle::insight
