// Room: what a lossless fabric promises. Its switches hold whatever may come before their pauses
// are heeded, and drop nothing for lack of room.
#pragma once

#include "simulator/network.h"
#include "tests/vopr/checkers/report.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

// What faults double, hold back or delay may come beyond the headroom, and what switches say by
// themselves came by no port: such runs are not judged. Returns whether it was.
bool judge_room(const Options& options, const simulator::Network& network, Report& report);

}  // namespace heddle::vopr
