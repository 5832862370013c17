// See headlines.h.
#include "acceptance/headlines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/agent_numbers.h"
#include "base/nanos.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

const Json* data_of(const Report& report, const std::string& stage, const char* key) {
  for (const StageReport& each : report.stages) {
    if (each.name != stage || !each.data.contains(key)) continue;
    const Json& found = each.data.at(key);
    if (!found.empty()) return &found;
  }
  return nullptr;
}

Headline slowest_pair(const Report& report) {
  Headline made{"slowest pair", "not measured", "stage pairs"};
  const Json* const pairs = data_of(report, "pairs", "pairs");
  if (pairs == nullptr) return made;
  std::optional<std::pair<double, double>> lowest;  // the share, and of pairs alike the goodput
  for (const Json& pair : *pairs) {
    const double allowed = pair.value("allowed_bits_per_s", 0.0);
    const double goodput = pair.value("goodput_bits_per_s", 0.0);
    const double share = allowed == 0 ? 1 : goodput / allowed;
    if (lowest && std::pair(share, goodput) >= *lowest) continue;
    lowest = std::pair(share, goodput);
    made.value = allowed == 0 ? rate_text(goodput) : fmt::format("{:.0f}%", share * 100);
    made.note = fmt::format(
        "{} to {}: {}{}", pair.value("from", ""), pair.value("to", ""), rate_text(goodput),
        allowed == 0 ? "" : " of " + rate_text(allowed) + " that its links carry");
  }
  return made;
}

Headline largest_all_reduce(const Report& report) {
  Headline made{"all-reduce", "not measured", "stage collectives"};
  const Json* const sizes = data_of(report, "collectives", "sizes");
  if (sizes == nullptr) return made;
  const Json& last = sizes->back();
  const double bound = last.value("bound_bits_per_s", 0.0);
  const double bus = last.value("bus_bits_per_s", 0.0);
  made.value = bound == 0 ? rate_text(bus) : fmt::format("{:.0f}%", bus / bound * 100);
  made.note = fmt::format("bus bandwidth of {}: {}{}", size_text(last.value("bytes", uint64_t{0})),
                          rate_text(bus), bound == 0 ? "" : " of " + rate_text(bound));
  return made;
}

Headline latency(const Report& report) {
  Headline made{"latency", "not measured", "stage pairs"};
  const Json* const pairs = data_of(report, "pairs", "pairs");
  if (pairs == nullptr) return made;
  std::vector<double> medians;  // of pairs that have one: a test that failed has 0
  for (const Json& pair : *pairs) {
    const double median = pair.value("half_round_trip_us_p50", 0.0);
    if (median > 0) medians.push_back(median);
  }
  if (medians.empty()) return made;
  std::sort(medians.begin(), medians.end());
  made.value = us_text(medians[medians.size() / 2]);
  made.note = "one-way latency (RTT/2) of 64 B on the idle fabric, median of all pairs";
  const Json* const victim = data_of(report, "stress", "victim");
  const double beside = victim == nullptr ? 0 : victim->value("half_round_trip_us_p99", 0.0);
  if (beside > 0) made.note += fmt::format("; beside an incast {} at p99", us_text(beside));
  return made;
}

}  // namespace

void add_headlines(Report& report) {
  report.headlines = {slowest_pair(report), largest_all_reduce(report), latency(report)};
}

}  // namespace heddle::acceptance
