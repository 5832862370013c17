// Training formula: what `heddle size overlap` says of a step of the built-in job. The stage
// training judges the step's time by it, the stage traffic the share of the communication that was
// hidden.
#pragma once

#include <functional>
#include <string>

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "acceptance/training_job.h"
#include "base/result.h"

namespace heddle::acceptance {

// The built-in job's, of the session.
inline constexpr const char* kTrainingRecording = "training";
// Of a step that is slower than the formula allows.
inline constexpr const char* kStepTodo =
    "all-reduces alone passed: `heddle summary` of the recording names the rank that waits; look "
    "for what else uses its processors";

// Zeros where no rate is known.
struct IdealStep {
  double step_s = 0;
  double exposed_s = 0;
  double communication_s = 0;

  // Of the communication, what runs beside computation.
  double hidden_share() const;
  // The same of a step that is slower, at this share of the formula's speed: as much is hidden, and
  // all that it takes longer is exposed.
  double hidden_share_at(double speed) const;
};

// `bound_bits_per_s`: as of training_job(). Errors: kSystem.
Result<IdealStep> ideal_step(Session& session, const TrainingJob& job, double bound_bits_per_s);

// Shares of the communication that ran beside computation.
struct HiddenShares {
  double measured = 0;
  double formula = 0;  // 0: there is none, and nothing is expected
  double least = 0;    // that is expected
};

// `where`: the recording; `grade` of the measured share and the least.
Row hidden_row(const std::string& where, const HiddenShares& shares,
               const std::function<Grade(double reached, double least)>& grade);

}  // namespace heddle::acceptance
