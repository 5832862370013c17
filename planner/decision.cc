// See decision.h.
#include "planner/decision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "planner/params.h"

namespace heddle::planner {
namespace {

// Quantiles of the normal distribution: 1.960 for a two-sided error of 5%, 0.842 for a power of
// 80% (Snedecor and Cochran, Statistical Methods, section 6.14).
constexpr double kQuantiles = 1.960 + 0.842;

}  // namespace

Effort effort_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kRankOrder:
    case ChangeKind::kPlacement:
    case ChangeKind::kAlgorithm:
    case ChangeKind::kPaths:
    case ChangeKind::kPathPlan:
      return Effort::kSetting;
    case ChangeKind::kBuckets:
    case ChangeKind::kSharding:
    case ChangeKind::kAccumulation:
    case ChangeKind::kParallelism:
      return Effort::kProgram;
    case ChangeKind::kBandwidth:
    case ChangeKind::kFabric:
      return Effort::kHardware;
  }
  return Effort::kHardware;
}

std::string_view name_of(Effort effort) {
  constexpr std::array<std::string_view, 3> kNames = {"setting", "program", "hardware"};
  return kNames[static_cast<size_t>(effort)];
}

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"go", "no_go", "no_evidence"};
  return kNames[static_cast<size_t>(verdict)];
}

Decision decide(std::span<const Option> options, bool evidence, double least_gain) {
  if (!evidence) return {};
  Decision made{.verdict = Verdict::kNoGo, .first = std::nullopt};
  for (size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    if (!option.comparable || option.gain.low < least_gain || !option.gain.certain()) continue;
    if (made.first) {
      const Option& best = options[*made.first];
      const Effort effort = effort_of(option.kind);
      const Effort least = effort_of(best.kind);
      if (effort > least || (effort == least && option.gain.mean <= best.gain.mean)) continue;
    }
    made = {.verdict = Verdict::kGo, .first = i};
  }
  return made;
}

uint64_t steps_to_see(double gain, double variation) {
  CHECK(gain > 0);
  const double root = kQuantiles * variation / gain;
  const double steps = std::min(std::ceil(2 * root * root), params::kMostTrialSteps);
  return std::max(kLeastTrialSteps, static_cast<uint64_t>(steps));
}

double variation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / (count - 1)) / mean : 0;
}

}  // namespace heddle::planner
