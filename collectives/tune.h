// Tune: measures what every algorithm of every collective takes between the ranks of a
// communicator. `heddle tune` calls it and writes the result to disk (table_file.h), where later
// communicators of these ranks find it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/tuning.h"

namespace heddle::collectives {

struct TuneOptions {
  uint64_t largest_bytes = uint64_t{16} << 20;  // sizes are those of CostTable::kSizes
  Nanos time = seconds(60);                     // no size begins that would not end within this
  std::function<void(uint64_t bytes)> on_size;  // before each size
  std::function<bool()> stopped;                // true: ends with kCancelled
};

struct TuneResult {
  Tuning tuning;               // the communicator's, with the costs as measured
  uint64_t largest_bytes = 0;  // that were measured
  uint32_t calls = 0;
  Nanos took;
  bool sound = false;  // bytes took a part of large calls that is more than chance
};

// All ranks call it, with equal options; all get the same costs, the mean of each on the rank that
// took longest. Waits. Errors: those of calls; kCancelled.
Result<TuneResult> tune(Communicator& communicator, engine::Endpoint& endpoint,
                        const TuneOptions& options);

}  // namespace heddle::collectives
