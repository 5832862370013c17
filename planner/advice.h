// Advice: what changes of a job gain, from step times before and after that were simulated with the
// same seeds: the gain with its interval, the order of changes, and why one gains nothing. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/params.h"
#include "planner/path_plan.h"

namespace heddle::planner {

enum class ChangeKind : uint8_t {
  kRankOrder,
  kPlacement,
  kAlgorithm,
  kBuckets,
  kSharding,
  kAccumulation,
  kPaths,
  kPathPlan,
  kParallelism,
  kBandwidth,  // links of a higher rate
  kFabric,     // other switches, or other NICs
};
std::string_view name_of(ChangeKind kind);

// A share of the step time that is saved: 0.2 is a fifth; below 0 the change costs. The interval is
// Student's, 95%, over pairs of one seed each; with one pair it is the mean alone.
struct Gain {
  double mean = 0;
  double low = 0;
  double high = 0;

  bool certain() const { return low > 0; }
};

// The mean with Student's interval, 95%; of one value it is the value alone. CHECKs that there is
// one.
Gain mean_of(std::span<const double> values);

// Seconds of a step by seed; the shorter of the two decides. CHECKs that there is a pair.
Gain gain_of(std::span<const double> before, std::span<const double> after);

// Why a change gains nothing.
enum class NoAdvantage : uint8_t {
  kGains,      // it does
  kHidden,     // communication is hidden behind computation
  kHostLinks,  // the hosts' own links take longest
  kOnePath,    // no flow has a choice of routes
  kEven,       // the traffic is spread as well already
  kUncertain,  // the interval has 0 in it
  kCosts,      // the step takes longer
};
std::string_view name_of(NoAdvantage why);

// What a simulated step is made of, for its average rank.
struct StepFacts {
  double step_s = 0;
  double exposed_s = 0;  // waits for communication: no change of it can save more
  double longest_host_link_s = 0;
  double longest_switch_link_s = 0;  // with the paths that the job has
  NoGain paths = NoGain::kGains;     // what a plan of paths could not help against
};

using params::kLeastExposed;
using params::kLeastGain;

NoAdvantage why_not(ChangeKind kind, const StepFacts& facts, const Gain& gain);

// A sentence with its figures; empty where it gains.
std::string reason_text(NoAdvantage why, const StepFacts& facts, const Gain& gain);

// Places of gains, the best first: those above 0 with certainty by their means, then the others by
// theirs.
std::vector<size_t> ranked(std::span<const Gain> gains);

// How far the simulated step is from the recorded one: 0.1 is a tenth too long.
inline double off_by(double simulated_s, double recorded_s) {
  return recorded_s > 0 ? simulated_s / recorded_s - 1 : 0;
}

}  // namespace heddle::planner
