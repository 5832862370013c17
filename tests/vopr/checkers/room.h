// Room: checks the guarantee of a lossless fabric: its switches have buffers for all data that
// arrives before their pauses take effect, and never drop for lack of buffer.
#pragma once

#include "simulator/network.h"
#include "tests/vopr/checkers/report.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

// Runs with duplicated, reordered or delayed packets (which may exceed the headroom), or with
// packets that switches create themselves, are not judged. Returns whether the run was judged.
bool judge_room(const Options& options, const simulator::Network& network, Report& report);

}  // namespace heddle::vopr
