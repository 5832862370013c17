// OperationFigures: what a collective that has ended shows of its ranks' computation and of its
// links. Looks at a job that runs ask for the same operations again and again, so each operation
// keeps its figures: a look computes those of operations that are new to it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/link_delays.h"

namespace heddle::insight {

struct OperationFigures {
  // Before its call, of a rank.
  struct Computation {
    double ns = 0;
    double late_ns = 0;  // beyond the median of the others
  };
  // By rank; none: of one at least it is not known.
  std::vector<Computation> ranks;
  // Ranks up to the first whose computation is not known, that one included.
  size_t asked = 0;
  // As link_delays(), by link in order.
  std::vector<std::pair<Link, double>> delays_ns;
  size_t waiting = 0;  // JobFacts::waiting() by which they were computed

  // Nothing: the operation does not say.
  std::optional<double> delay_ns(const Link& link) const;
};

// How long the part's process computed before it, ns, by its own clock, so that clocks of hosts
// need not agree; nothing: it is the first call.
std::optional<double> computation_ns(const JobFacts& facts, const Part& part);

// Of a collective that has ended. Valid until the next event is added to the facts.
const OperationFigures& figures_of(const JobFacts& facts, const Operation& operation);

}  // namespace heddle::insight
