// ObservedJob: the events of a job's processes in order of time, with what is true of it: the input
// of a diagnosis and its expected result.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/diagnosis/fault_case.h"
#include "events/events.h"
#include "insight/diagnosis.h"

namespace heddle::bench {

struct TimedEvent {
  int64_t at_ns = 0;
  uint32_t process = 0;
  events::AnyEvent event;
};

struct ObservedJob {
  std::vector<insight::Identity> processes;  // by rank
  std::vector<insight::FileEnd> ends;        // the same
  std::vector<TimedEvent> events;
  int64_t onset_ns = 0;  // of the fault
  int64_t until_ns = 0;  // end of the observation
  int64_t ended_ns = 0;  // of the work, if it came to an end

  void sort();
};

insight::Identity identity_of(const FaultCase& job, uint32_t rank);

// The diagnosis of what was recorded until `until_ns`, of a job that runs then; `least_errors`:
// insight::DiagnosisOptions.
insight::Diagnosis diagnose(const ObservedJob& job, int64_t until_ns, double least_errors = 0);

}  // namespace heddle::bench
