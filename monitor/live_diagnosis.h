// LiveDiagnosis: the diagnosis of a job that runs, look after look: slowness over the last seconds
// and the last minute, so that it is reported while it is new, and now and then over all that is
// kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/node_history.h"
#include "monitor/alarms.h"

namespace heddle::monitor {

class LiveDiagnosis {
 public:
  LiveDiagnosis();

  // Takes the job's processes and events.
  insight::DiagnosisBuilder& builder() { return builder_; }
  // Takes what its machines report.
  insight::NodeHistory& nodes() { return nodes_; }
  // Judges what was added; the job is known to run at this time, ns since its beginning. Returns
  // the faults that began or ended.
  std::vector<AlarmChange> look(int64_t alive_until_ns);

  const insight::Diagnosis& recent() const { return recent_; }
  // What is no fault, a sentence each: unequal work by design, and steps that all ranks alike take
  // longer for, which is looked for every params::kWholeEvery and not said while an alarm lasts.
  std::vector<std::string> notes() const;
  const Alarms& alarms() const { return alarms_; }

 private:
  insight::Diagnosis diagnose(int64_t since_ns, int64_t alive_until_ns) const;

  insight::DiagnosisBuilder builder_;
  insight::NodeHistory nodes_;
  Alarms alarms_;
  insight::Diagnosis recent_;
  insight::Diagnosis newest_;  // of a job that did not hang
  insight::Diagnosis slow_;    // the last recent one of a job that did not hang
  insight::Diagnosis whole_;
  int64_t whole_due_ns_ = INT64_MIN;
};

}  // namespace heddle::monitor
