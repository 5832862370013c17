// A replay: a workload with real packets, over the production's transport and collectives. Each
// rank of a job is a process, and so is each host that has flows.
#pragma once

#include <optional>

#include "base/config.h"
#include "base/nanos.h"
#include "base/result.h"
#include "collectives/rendezvous.h"
#include "jobs/replay_plan.h"
#include "jobs/replay_results.h"

namespace heddle::jobs {

// What every process of the run would report, checked before they start: files that one process
// alone can read, and the configuration. Errors: kInvalid, those of the configuration and, on this
// machine, of opening an endpoint.
Result<void> check_replay(const ReplayOptions& options, const ReplayPlan& plan,
                          const Config& config);

// One process of the run, from meeting the others to the end of the workload. The first process
// has the results of all, the others nothing. Errors: those of meeting, kInvalid (it is on the
// wrong host of a lab), kCancelled (a signal came).
Result<std::optional<ReplayResults>> run_replay_process(const ReplayPlan& plan,
                                                        const Config& config,
                                                        const collectives::MeetOptions& meeting);

// Every flow arrived and every rank has done all.
bool all_done(const ReplayPlan& plan, const ReplayResults& results);
// From time 0 to the last flow or step that ended, or rank that failed.
Nanos duration_of(const ReplayResults& results);

}  // namespace heddle::jobs
