// NIC shares: messages that a rank sends or receives at the same time share its NIC, so each takes
// longer than it would alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::insight {

// A message on its link, between two ranks. `end` is not before `begin`.
struct Passage {
  uint32_t from = 0;
  uint32_t to = 0;
  double begin = 0;
  double end = 0;
};

// Of each passage, the share of its time in which it would have passed alone, above 0 and at most
// 1: what a rank sends at a time has equal parts of its NIC, and so has what it receives. Empty: so
// much of them is at the same time that it would take long (params::kMostShareSteps).
std::vector<double> nic_shares(const std::vector<Passage>& passages, size_t ranks);

}  // namespace heddle::insight
