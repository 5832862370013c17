// Run counts: what NICs of hosts and ports of switches counted from a test's begin to its end, as
// rows of the inventory: links that lost their carrier, errors, and drops.
#pragma once

#include <string>
#include <vector>

#include "acceptance/machine/nic_counts.h"
#include "acceptance/report.h"

namespace heddle::acceptance {

struct PlaceCounts {
  std::string place;  // a host or a switch
  bool is_switch = false;
  bool known = true;  // false: an older heddle, or a machine that does not answer
  std::vector<NicCounts> nics;
  std::string tested;  // the NIC that is tested; empty: all are
};

// What was counted between two readings of the same places, by place.
std::vector<PlaceCounts> counted_between(const std::vector<PlaceCounts>& before,
                                         const std::vector<PlaceCounts>& after);

// Puts rows, and the counts into the data, for stages of a test that goes on with an earlier one:
// then what that one has counted is added, and its rows are replaced.
void add_run_counts(std::vector<PlaceCounts> counted, StageReport& inventory);

// Public for tests.
std::vector<Row> run_count_rows(const std::vector<PlaceCounts>& counted);

}  // namespace heddle::acceptance
