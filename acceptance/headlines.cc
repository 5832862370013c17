// See headlines.h.
#include "acceptance/headlines.h"

#include <fmt/format.h>

#include <algorithm>

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
  double lowest = 1e9;
  for (const Json& pair : *pairs) {
    const double allowed = pair.value("allowed_bits_per_s", 0.0);
    const double goodput = pair.value("goodput_bits_per_s", 0.0);
    const double share = allowed == 0 ? 1 : goodput / allowed;
    if (share >= lowest) continue;
    lowest = share;
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
  std::vector<double> medians;
  for (const Json& pair : *pairs) medians.push_back(pair.value("half_round_trip_us_p50", 0.0));
  std::sort(medians.begin(), medians.end());
  made.value = duration_text(nanos(static_cast<int64_t>(medians[medians.size() / 2] * 1e3)));
  made.note = "half a round trip of 64 B on the idle fabric, median of all pairs";
  const Json* const victim = data_of(report, "stress", "victim");
  if (victim != nullptr) {
    made.note += fmt::format("; beside an incast {} at p99",
                             duration_text(nanos(static_cast<int64_t>(
                                 victim->value("half_round_trip_us_p99", 0.0) * 1e3))));
  }
  return made;
}

}  // namespace

void add_headlines(Report& report) {
  report.headlines = {slowest_pair(report), largest_all_reduce(report), latency(report)};
}

}  // namespace heddle::acceptance
