// Run counts: what NICs of hosts and ports of switches counted from a test's begin to its end, as
// rows of its first stage: links that lost their carrier, errors, and drops.
#pragma once

#include <map>
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
  std::string tested;                             // the NIC that is tested; empty: all are
  std::map<std::string, std::string> links = {};  // by device: the label of the tested link
  std::vector<std::string> below = {};  // the tested NIC: members of a bond, the NIC of a VLAN
  bool silent = false;                  // another row names it

  bool is_tested(const std::string& device) const;
};

// What was counted between two readings of the same places, by place.
std::vector<PlaceCounts> counted_between(const std::vector<PlaceCounts>& before,
                                         const std::vector<PlaceCounts>& after);

// Of the data of a stage that has them. Throws Json::exception for others than set_run_counts()
// put there.
std::vector<PlaceCounts> counts_in(const StageReport& stage);

// Adds counts of the same NICs and ports.
void add_counts(const std::vector<PlaceCounts>& more, std::vector<PlaceCounts>& counted);

// Puts rows, and the counts into the data, in place of those that are there. The stage fails of
// rows that failed.
void set_run_counts(const std::vector<PlaceCounts>& counted, StageReport& stage);

// Public for tests.
std::vector<Row> run_count_rows(const std::vector<PlaceCounts>& counted);

}  // namespace heddle::acceptance
