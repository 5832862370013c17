// WatchedJob: what a monitor sees of an ObservedJob, look by look, each second until it takes the
// job to be over: verdicts and alarms, and false ones that are put beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"
#include "monitor/live_diagnosis.h"

namespace heddle::bench {

struct LiveLook {
  int64_t at_ns = 0;
  const monitor::LiveDiagnosis& diagnosis;
  const std::vector<monitor::AlarmChange>& changes;
};
// Looks each second while the job runs, and for `on_s` more seconds after its last event; the last
// look is made twice, as a monitor's is.
void look_each_second(const ObservedJob& job, int64_t on_s,
                      const std::function<void(const LiveLook& look)>& looked);

struct WatchedLook {
  int64_t at_ns = 0;                     // since the job's beginning
  std::vector<monitor::Alarm> verdicts;  // of this look alone, as if each was an alarm
  std::vector<monitor::Alarm> lasting;
};

struct WatchedJob {
  std::vector<WatchedLook> looks;
  std::vector<insight::Party> parties;  // by rank
  uint64_t false_verdicts = 0;          // that were added
};

WatchedJob watch(const ObservedJob& job);

// Alarms of the job itself have smaller numbers; each false verdict's have this many of their own.
constexpr uint64_t kNumbersEach = 1'000'000;

// Verdicts about what has no fault: a rank that hangs or is slow, a NIC or a link that is slow.
struct FalseVerdicts {
  double an_hour = 0;  // of the job, at random times
  // Each lasts log-uniformly this long, or until the job is over.
  double least_s = 1;
  double most_s = 300;
  // Each look's confidence is one value, uniform.
  double least_confidence = 0.5;
  double most_confidence = 0.99;
};
// The same job with false verdicts. They become alarms by the monitor's rules.
WatchedJob with_false_verdicts(WatchedJob watched, const FaultCase& job,
                               const FalseVerdicts& wanted);

}  // namespace heddle::bench
