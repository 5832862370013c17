// How evenly traffic was shared: by each switch among the links that it had a choice of, by each
// connection among its paths. 1 is even; with all on one of n it is n.
#pragma once

#include <string>

#include "apps/cli/sim/link_names.h"
#include "simulator/flow_run.h"
#include "simulator/series.h"

namespace heddle::cli {

// Up to two lines; nothing where there was no choice.
std::string unevenness_text(const simulator::FlowRun& run, const simulator::Series& series,
                            const LinkNames& names);

}  // namespace heddle::cli
