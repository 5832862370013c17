// What a process of a replay saw, as it travels to the first of them, and all of it together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/outcome.h"
#include "simulator/flow_run.h"
#include "topology/workload.h"

namespace heddle::jobs {

struct ReplayCounts {
  uint64_t segments_sent = 0;
  uint64_t segments_retransmitted = 0;
};

// Of the whole workload.
struct ReplayResults {
  explicit ReplayResults(const topology::Workload& workload);

  std::vector<JobOutcome> jobs;
  std::vector<simulator::FlowOutcome> flows;
  ReplayCounts counts;
};

// The encoded results of a rank of a job, and of a host with flows.
std::string record_of_job(uint32_t job, const JobOutcome& outcome, const ReplayCounts& counts);
std::string record_of_flows(const topology::Workload& workload, uint32_t host,
                            std::span<const simulator::FlowOutcome> outcomes,
                            const ReplayCounts& counts);
// Adds the results of a process. Errors: kInvalid (malformed).
Result<void> add_record(const topology::Workload& workload, const std::string& record,
                        ReplayResults& results);

}  // namespace heddle::jobs
