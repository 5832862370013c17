// Live families: live figures as Prometheus' metrics. docs/reference/metrics.md lists them. `heddle
// verify --metrics` serves them.
#pragma once

#include <vector>

#include "acceptance/live_figures.h"
#include "metrics/exposition.h"

namespace heddle::acceptance {

std::vector<metrics::Family> families_of(const LiveSnapshot& snapshot);

}  // namespace heddle::acceptance
