// Why flows of a simulation failed, for people and for programs.
#pragma once

#include <string>

#include "base/result.h"
#include "simulator/flow_run.h"

namespace heddle::cli {

// "peer_dead"; part of the JSON document.
const char* name_of(ErrorCode code);
// "3 the peer stopped answering, 1 no answer in time"; empty where none failed.
std::string failures_text(const simulator::FlowRun& run);

}  // namespace heddle::cli
