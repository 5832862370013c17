// The best changes and the job as it is, run for real: on a lab of the fabric, in turn.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/plan/advise/advised.h"
#include "base/result.h"

namespace heddle::cli {

struct TrialOptions {
  uint32_t changes = 0;  // the best simulated ones; 0: none
  uint32_t rounds = 3;   // of each
  std::string topology;  // the file; empty: the setting's text
};

// To be called before anything else: whether a lab can be made here, which may move this process
// into namespaces. Errors: kPermission.
Result<void> prepare_trial(const TrialOptions& options);

// Adds what was measured. Links that this machine cannot carry are slowed, and computation with
// them. Nothing is left behind. Errors: those of the lab; kInvalid where it would take too long;
// kSystem; kCancelled.
Result<void> try_changes(const RecordedSetting& setting, const StepTransport& transport,
                         const TrialOptions& options, Advised& advised);

}  // namespace heddle::cli
