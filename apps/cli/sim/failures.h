// Why flows of a simulation failed, for people.
#pragma once

#include <string>

#include "simulator/flow_run.h"

namespace heddle::cli {

// "3 the peer stopped answering, 1 no answer in time"; empty where none failed.
std::string failures_text(const simulator::FlowRun& run);

}  // namespace heddle::cli
