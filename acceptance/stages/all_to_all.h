// All-to-all: each host sends to each other one by `heddle bench`, for the stage stress.
#pragma once

#include "acceptance/session.h"
#include "acceptance/stages/link_losses.h"
#include "acceptance/stages/load_rows.h"
#include "base/result.h"

namespace heddle::acceptance {

struct AllToAllLoad {
  LinkLosses losses;
  LoadSegments segments;
  double bits_per_s = 0;  // of payload, of all hosts together
};

// Measures and judges it: a row of its bus bandwidth, its data, what was retransmitted, and what
// links lost meanwhile. Errors: kSystem, and those of take_losses().
Result<AllToAllLoad> run_all_to_all(Session& session, StageReport& report);

}  // namespace heddle::acceptance
