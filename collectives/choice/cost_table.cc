// CostTable: see cost_table.h.
#include "collectives/cost_table.h"

#include <algorithm>

namespace heddle::collectives {

std::optional<uint64_t> CostTable::cost_ns(Collective collective, Algorithm algorithm,
                                           uint64_t bytes) const {
  const auto* const found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) {
    return row.collective == collective && row.algorithm == algorithm;
  });
  if (found == kRows.end()) return std::nullopt;
  const auto& costs = ns[static_cast<size_t>(found - kRows.begin())];
  if (bytes <= kSizes.front()) return costs.front();
  if (bytes >= kSizes.back()) return costs.back();
  size_t above = 1;
  while (kSizes[above] < bytes) ++above;
  const double part = static_cast<double>(bytes - kSizes[above - 1]) /
                      static_cast<double>(kSizes[above] - kSizes[above - 1]);
  return static_cast<uint64_t>(static_cast<double>(costs[above - 1]) * (1 - part) +
                               static_cast<double>(costs[above]) * part);
}

}  // namespace heddle::collectives
