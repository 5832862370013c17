// Shards: a long row of seeds in several processes. What is done stands in a folder, so that a row
// that was stopped goes on where it was; a seed that ends its process, or never ends, is written
// down as failed and the others go on.
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
  // done: the blocks that are over. failed: a seed a line, and why. findings: what they printed.
  // reached: what all have met.
  std::filesystem::path folder;
  int64_t seconds_a_seed = 300;  // one that takes longer hangs
};

struct ShardResult {
  uint64_t runs = 0;    // earlier ones of the folder included
  uint64_t failed = 0;  // of these
};

// `run_seed` runs in a process of its own; false: the seed failed, and it has printed why.
ShardResult run_shards(const ShardOptions& options,
                       const std::function<bool(uint64_t seed, Reached&)>& run_seed,
                       Reached& reached);

}  // namespace heddle::vopr
