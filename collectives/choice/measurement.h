// Measurement: which calls ranks make to fill a table of costs, and the table that follows from the
// times they took. It makes no calls itself: communicator/agreement.h and choice/tune.cc do, and
// pass their times. Calls come in groups of one size: the smallest, which warms up, trials of sizes
// of two-level groups, and all sizes from the smallest on, until time or bytes run out; rank 0
// decides that for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/nanos.h"
#include "collectives/call.h"
#include "collectives/tuning.h"

namespace heddle::collectives {

struct MeasurementPlan {
  struct Group {
    size_t column = 0;  // of CostTable::kSizes
    std::vector<size_t> rows;
    uint32_t rounds = 1;  // calls of each row, one after the other
    // A trial: its two-level calls have groups of this number of ranks. 0: of as many as
    // use_groups() says.
    uint32_t group_ranks = 0;
  };
  std::vector<Group> groups;
  Nanos time;               // no group begins that would not end within this
  uint64_t sent_bytes = 0;  // nor one that would have the busiest rank send more
  // Where even the smallest call takes params::kSlowCall, this instead of `time`, and of the larger
  // sizes only one: the largest that fits.
  Nanos slow_time;
};

// Sizes of groups of kTwoLevel to try: `pinned`, if it divides the ranks; where it is 0, divisors
// of `ranks`: halves, pairs, thirds, threes and further, params::kMostGroupings of them. None for a
// prime number.
std::vector<uint32_t> groupings_of(uint32_t ranks, uint32_t pinned);

// What a communicator measures by itself when it is made without a table: all-reduces up to 256
// KiB, and the smallest all-to-all among few ranks.
MeasurementPlan short_measurement(uint32_t ranks, const std::vector<uint32_t>& groupings);
// All that there is a choice of, up to `largest_bytes`.
MeasurementPlan full_measurement(uint64_t largest_bytes, Nanos time,
                                 const std::vector<uint32_t>& groupings);

class Measurement {
 public:
  Measurement(uint32_t ranks, MeasurementPlan plan);

  // Of a group: its calls, in their order.
  size_t groups() const { return plan_.groups.size(); }
  size_t calls(size_t group) const;
  CostTable::Row row(size_t group, size_t call) const;
  uint64_t bytes(size_t group) const;
  // Ranks that compare their times begin such a call together.
  bool begins_row(size_t group, size_t call) const;
  // The memory that calls need, input and output together.
  uint64_t buffer_bytes() const;
  // The call on floats in `buffer`, for this rank. Rooted ones have rank 0 as their root.
  Call call(size_t group, size_t call, float* buffer) const;

  void note(size_t group, size_t call, Nanos took);
  // Of the fastest trial so far; 1 without one.
  uint32_t best_groups() const { return best_trial().group_ranks; }
  // In which groups the two-level calls that follow are made.
  void use_groups(uint32_t group_ranks) { group_ranks_ = group_ranks; }
  // The group after `group`, which took `group_took` of the `elapsed` since the first began;
  // nothing: the measurement ends.
  std::optional<size_t> after(size_t group, Nanos group_took, Nanos elapsed) const;

  // Whether the table is worth keeping: bytes took a part of the largest calls that is more than
  // chance, and most calls took their typical time. Else the ranks waited for cores.
  bool sound() const;
  // `start` with the costs as measured. Sizes that were left out lie on a line between those that
  // were not; beyond the largest, costs grow as the closed forms say. Less data never costs more.
  Tuning result(const Tuning& start) const;

 private:
  struct Trial {
    uint32_t group_ranks = 1;
    uint64_t bytes = 0;
    int64_t ns = 0;
  };
  Trial best_trial() const;
  // The times of a row's calls in a group without the warm-up, sorted; empty: they were not made.
  std::vector<int64_t> times_of(size_t group, size_t place) const;
  std::optional<uint64_t> measured_ns(size_t row, size_t column) const;
  uint64_t sent_in(size_t group) const;
  bool slow() const;
  // What follows on the last group of the smallest size, and on the trials where the rest of them
  // is left out.
  std::optional<size_t> after_small(size_t group, uint64_t sent, Nanos elapsed) const;
  std::optional<size_t> behind_trials(size_t next) const;
  // Of the groups from `first` on, the last that is expected to end within the plan's slow_time.
  std::optional<size_t> last_that_fits(size_t first, uint64_t sent, Nanos elapsed,
                                       double byte_ns) const;
  // What a row's time grows by between its two largest sizes.
  struct Slope {
    uint64_t from_bytes = 0;
    uint64_t to_bytes = 0;
    double ns = 0;
  };
  std::optional<Slope> slope_of(size_t row) const;
  bool network_bound() const;
  bool undisturbed() const;
  // Time of a byte on the network: the slope of the ring's all-reduce between its two largest
  // sizes. Zero where there are none.
  double byte_ns(const Tuning& network) const;
  void set_network(Tuning& tuning) const;
  void fill_row(size_t row, const Tuning& network, CostTable& table) const;
  // How much faster than a ring two levels move bytes here, as a part of the ring's time; 1 where
  // the measurement shows no clear difference.
  double two_level_part(const Tuning& network) const;

  const uint32_t ranks_;
  const MeasurementPlan plan_;
  std::vector<std::vector<Nanos>> took_;  // by group and call; negative: not made
  uint32_t group_ranks_ = 1;
};

}  // namespace heddle::collectives
