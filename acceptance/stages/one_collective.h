// One collective at a size that is large for the fabric, and at some smaller ones, by `heddle
// bench`: for the stages collectives and stress.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "acceptance/session.h"
#include "acceptance/stages/load_rows.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

struct OneCollective {
  std::vector<BenchSize> sizes;  // ascending, or none
  LoadSegments segments;         // of all ranks, warming up and checks included
  std::string complaint;         // why there is no size

  // Of the largest size.
  double bus_bits_per_s() const { return sizes.empty() ? 0 : sizes.back().bus_bits_per_s; }
  uint64_t wrong() const;  // values, of all sizes
};

// A size of which a call takes at most about params::kCallTime at this bus bandwidth; 0: no limit.
uint64_t size_for(double bound_bits_per_s);

// Each params::kCollectiveFactor times the one before.
struct CollectiveSizes {
  uint64_t smallest = 0;
  uint64_t largest = 0;
};
// Those of a table up to `largest`, of which each host has a value at least; of a quick test that
// one.
CollectiveSizes table_sizes(const Session& session, uint64_t largest);

// Calls of a side whose two sides, out of place and in place, take about this time, by the time of
// one; from params::kCollectiveCalls to kMostCollectiveCalls. Public for tests.
uint32_t calls_in(Nanos time, const BenchSize& size);

// `test` as heddle bench calls it: "alltoall". Over all hosts. A full test measures the largest
// size for params::kFullFlow behind a few calls whose time says how many these are. Errors:
// kSystem.
Result<OneCollective> run_collective(Session& session, const std::string& test,
                                     const CollectiveSizes& sizes);
// The best of several where the one before is below `least_bits_per_s` of bus bandwidth and there
// is time to repeat it. Errors: kSystem.
Result<OneCollective> best_collective(Session& session, const std::string& test,
                                      const CollectiveSizes& sizes, double least_bits_per_s);

// `check`: "all-to-all"; `bound`: the bus bandwidth that the fabric allows, of which `least` is
// expected; 0: no limit is known.
struct CollectiveBound {
  std::string check;
  std::string where;
  double bound_bits_per_s = 0;
  double least_bits_per_s = 0;
  const char* todo = "";  // where less is reached
};
Row collective_row(const CollectiveBound& bound, const OneCollective& measured,
                   const std::function<Grade(double reached, double least)>& grade);

// The bus bandwidth of an all-to-all: what one host sends to all others if all send at once and
// evenly. Payload; 0: no limit.
double all_to_all_bound(const Session& session);

}  // namespace heddle::acceptance
