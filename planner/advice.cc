// See advice.h.
#include "planner/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace heddle::planner {
namespace {

// Student's t for 95%, two-sided, by degrees of freedom from 1 (Abramowitz and Stegun,
// table 26.10).
constexpr std::array<double, 15> kStudent = {12.706, 4.303, 3.182, 2.776, 2.571,
                                             2.447,  2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131};
constexpr double kNormal = 1.96;

double student(size_t freedom) {
  return freedom <= kStudent.size() ? kStudent[freedom - 1]
                                    : kNormal + 2.5 / static_cast<double>(freedom);
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.0f} us", seconds * 1e6)
                        : fmt::format("{:.2f} ms", seconds * 1e3);
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "rank_order", "placement", "algorithm",   "buckets",   "sharding", "accumulation",
      "paths",      "path_plan", "parallelism", "bandwidth", "fabric"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name_of(NoAdvantage why) {
  constexpr std::array<std::string_view, 7> kNames = {
      "gains", "hidden", "host_links", "one_path", "even", "uncertain", "costs"};
  return kNames[static_cast<size_t>(why)];
}

Gain mean_of(std::span<const double> values) {
  const size_t count = values.size();
  CHECK(count > 0);
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  if (count == 1) return {mean, mean, mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count - 1));
  const double half = student(count - 1) * deviation / std::sqrt(static_cast<double>(count));
  return {mean, mean - half, mean + half};
}

Gain gain_of(std::span<const double> before, std::span<const double> after) {
  const size_t count = std::min(before.size(), after.size());
  CHECK(count > 0);
  std::vector<double> gains;
  for (size_t i = 0; i < count; ++i) gains.push_back(1 - after[i] / before[i]);
  return mean_of(gains);
}

NoAdvantage why_not(ChangeKind kind, const StepFacts& facts, const Gain& gain) {
  if (gain.certain() && gain.mean >= kLeastGain) return NoAdvantage::kGains;
  if (facts.exposed_s < kLeastExposed * facts.step_s) return NoAdvantage::kHidden;
  if (kind == ChangeKind::kPaths || kind == ChangeKind::kPathPlan) {
    if (facts.paths == NoGain::kOneRoute) return NoAdvantage::kOnePath;
    if (facts.paths == NoGain::kNics) return NoAdvantage::kHostLinks;
    if (facts.paths == NoGain::kEven) return NoAdvantage::kEven;
  }
  const bool moves = kind == ChangeKind::kRankOrder || kind == ChangeKind::kPlacement;
  if (moves && facts.longest_switch_link_s <= facts.longest_host_link_s) {
    return NoAdvantage::kHostLinks;
  }
  if (gain.mean <= -kLeastGain && gain.high < 0) return NoAdvantage::kCosts;
  return NoAdvantage::kUncertain;
}

std::string reason_text(NoAdvantage why, const StepFacts& facts, const Gain& gain) {
  switch (why) {
    case NoAdvantage::kGains:
      return "";
    case NoAdvantage::kHidden:
      return fmt::format("communication is hidden: {} of a step of {} is exposed",
                         time_text(facts.exposed_s), time_text(facts.step_s));
    case NoAdvantage::kHostLinks:
      return fmt::format(
          "bound by the hosts' own links: the busiest takes {}, the busiest between "
          "switches {}",
          time_text(facts.longest_host_link_s), time_text(facts.longest_switch_link_s));
    case NoAdvantage::kOnePath:
      return "one path only: no two hosts have a choice of routes";
    case NoAdvantage::kEven:
      return fmt::format("spread evenly already: the busiest link between switches takes {}",
                         time_text(facts.longest_switch_link_s));
    case NoAdvantage::kUncertain:
      if (std::abs(gain.mean) < kLeastGain) return "changes the step by less than 0.5%";
      return fmt::format("within the spread of seeds: {:+.1f}% to {:+.1f}%", 100 * gain.low,
                         100 * gain.high);
    case NoAdvantage::kCosts:
      return fmt::format("the step takes {:.1f}% longer", -100 * gain.mean);
  }
  return "";
}

std::vector<size_t> ranked(std::span<const Gain> gains) {
  std::vector<size_t> order(gains.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    if (gains[one].certain() != gains[other].certain()) return gains[one].certain();
    return gains[one].mean > gains[other].mean;
  });
  return order;
}

}  // namespace heddle::planner
