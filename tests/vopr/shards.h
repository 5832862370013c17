// Shards: a long sequence of seeds in several processes. A folder records completed work, so that
// an interrupted sequence can be continued; a seed that crashes its process, or hangs, is recorded
// as failed and the others continue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "tests/vopr/reached.h"

namespace heddle::vopr {

struct ShardOptions {
  uint64_t first = 1;
  uint64_t last = 1;
  uint64_t every = 1;
  uint32_t jobs = 1;
  // done: completed blocks. failed: a seed and the reason on each line. findings: the output of
  // failed seeds. reached: the sum over all seeds.
  std::filesystem::path folder;
  // A seed that takes longer hangs. Of processor time: a run computes all the time, and in the
  // background it may get none for minutes.
  int64_t seconds_a_seed = 300;
};

struct ShardResult {
  uint64_t runs = 0;    // with those completed earlier in this folder
  uint64_t failed = 0;  // of these
};

// `run_seed` runs in a separate process; it returns false if the seed failed, after printing why.
ShardResult run_shards(const ShardOptions& options,
                       const std::function<bool(uint64_t seed, Reached&)>& run_seed,
                       Reached& reached);

}  // namespace heddle::vopr
