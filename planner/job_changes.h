// Changes of a job of one step: other hosts for its ranks, other algorithms, buckets of gradients
// merged or split, sharded instead of replicated, gradients accumulated over several passes. Each
// takes a job and returns the changed one. Pure; `heddle plan advise` simulates them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/params.h"
#include "topology/job.h"

namespace heddle::planner {

// Rank i on hosts[i].
topology::Job placed(topology::Job job, const std::vector<uint32_t>& hosts);

// All calls of that kind have the algorithm.
topology::Job with_algorithm(topology::Job job, topology::CallKind kind,
                             const topology::AlgorithmChoice& choice);

// Up to `buckets` consecutive asynchronous all-reduces of a communicator become one, which starts
// where the last of them did.
topology::Job merged(topology::Job job, uint32_t buckets);

// Each asynchronous all-reduce becomes `parts`, each after its part of the computation before it.
topology::Job split(topology::Job job, uint32_t parts);

// All-reduces of gradients become reduce-scatters; their parameters are gathered at the beginning
// of the step, the last bucket's first, each before its part of the computation up to the first
// all-reduce (ZeRO, Rajbhandari et al., SC 2020, stages 1 and 2).
topology::Job sharded(topology::Job job);

// `passes` times the computation, and the gradients exchanged once: a step of `passes` times the
// batch.
topology::Job accumulated(const topology::Job& job, uint32_t passes);

// All-reduces and reduce-scatters of gradients: asynchronous ones, and where the job has one
// communicator and no messages between two ranks, blocking ones of this size and above.
using params::kLeastGradientBytes;
bool exchanges_gradients(const topology::Job& job, const topology::Action& action);

// Buckets of a step, of the program with most of them.
struct Buckets {
  uint32_t count = 0;          // asynchronous all-reduces, which can be merged
  uint64_t largest_bytes = 0;  // all-reduces of gradients, those that block included; 0: none
};
Buckets buckets_of(const topology::Job& job);

}  // namespace heddle::planner
