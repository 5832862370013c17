// Transits of an operation's messages: how long each link took with what it could have carried.
// A message's transit begins when its receiver has the one before, its sender has received as many
// (of a ring) or has ended the exchange before (of an exchange), and both ranks have started. Of
// other algorithms it begins when both sides have posted it; where its ranks send or receive others
// at the same time, its share of their NICs says how long it would have taken alone. So a late
// rank, or a slow link elsewhere, makes no other link look slow.
#pragma once

#include <vector>

#include "insight/diagnosis/job_facts.h"

namespace heddle::insight {

// Of a completed operation: fills in the transits of its inflows, as bounds where clocks have
// errors. The times of single messages are forgotten.
void measure_transits(const std::vector<ProcessFacts>& processes, Operation& operation);

}  // namespace heddle::insight
