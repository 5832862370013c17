// Decision: whether a change is worth a trial, which one to try first, and how long the trial must
// be to show it. From gains that were simulated (advice.h). Pure; `heddle size report` prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "planner/advice.h"
#include "planner/params.h"

namespace heddle::planner {

// What a change takes, the least first: a setting, other code, or something to be bought.
enum class Effort : uint8_t { kSetting, kProgram, kHardware };
Effort effort_of(ChangeKind kind);
std::string_view name_of(Effort effort);

// A change by its gain. What makes a step another one, or was not simulated, is not `comparable`.
struct Option {
  ChangeKind kind = ChangeKind::kPaths;
  Gain gain;
  bool comparable = true;
};

enum class Verdict : uint8_t { kGo, kNoGo, kNoEvidence };
std::string_view name_of(Verdict verdict);

struct Decision {
  Verdict verdict = Verdict::kNoEvidence;
  std::optional<size_t> first;  // the option to try first, where the verdict is kGo
};

// Of the least effort with an option whose whole interval is at `least_gain` or above, the one that
// gains most. Without
// `evidence`, the gains count for nothing.
Decision decide(std::span<const Option> options, bool evidence, double least_gain);

// Steps to record before a change and as many after it, so that a gain of that share of a step is
// seen: in 8 of 10 trials, with a false alarm in 1 of 20 (the sample size of two means; Student's
// test). `variation`: the standard deviation of a step over its mean. At least kLeastTrialSteps.
using params::kLeastTrialSteps;
uint64_t steps_to_see(double gain, double variation);

// The part of that gain above which a trial of that length is not noise: 1.960 of 1.960 + 0.842.
using params::kSeenPart;
// The error of a median over that of a mean, of normal values: the root of pi / 2.
inline constexpr double kMedianError = 1.2533;

// The standard deviation over the mean; 0 for fewer than two.
double variation_of(std::span<const double> values);

}  // namespace heddle::planner
