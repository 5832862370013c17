// Headlines: the three figures at the top of a report.
#pragma once

#include "acceptance/report.h"

namespace heddle::acceptance {

// From the data of the stages that ran: the slowest pair, the largest all-reduce, the latency.
void add_headlines(Report& report);

}  // namespace heddle::acceptance
