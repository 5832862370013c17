// See latency_rows.h.
#include "acceptance/stages/latency_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// By links of their routes, the median of the pairs' least: a longer route takes longer.
std::map<uint32_t, double> typical_latencies(Routes& routes,
                                             const std::vector<LatencyFigures>& latencies) {
  std::map<uint32_t, std::vector<double>> values;
  for (const LatencyFigures& each : latencies) {
    if (each.complaint.empty()) values[routes.length(each.pair)].push_back(each.us_min);
  }
  std::map<uint32_t, double> medians;
  for (auto& [length, of_length] : values) medians[length] = median(std::move(of_length));
  return medians;
}

}  // namespace

std::vector<Row> latency_rows(const topology::Topology& topology,
                              const std::vector<LatencyFigures>& latencies,
                              const std::function<std::string(const HostPair&)>& name_of) {
  Routes routes(topology);
  const std::map<uint32_t, double> typical_by_length = typical_latencies(routes, latencies);
  std::vector<Row> rows;
  size_t fine = 0;
  std::vector<double> medians;
  for (const LatencyFigures& each : latencies) {
    if (!each.complaint.empty()) {
      rows.push_back({"latency", name_of(each.pair), each.complaint, "a figure", Grade::kFail,
                      "see the stage reach for this pair"});
      continue;
    }
    medians.push_back(each.us_p50);
    const double typical = typical_by_length.at(routes.length(each.pair));
    const double most = typical * params::kLatencyFactor + params::kLatencyExtraUs;
    if (each.us_min <= most) {
      ++fine;
      continue;
    }
    rows.push_back({"latency", name_of(each.pair), fmt::format("{:.0f} us at best", each.us_min),
                    fmt::format("at most {:.0f} us; other pairs: {:.0f} us", most, typical),
                    Grade::kWarn,
                    "look for a longer route, a full queue, or power saving on one of the two "
                    "hosts"});
  }
  if (fine == 0) return rows;
  rows.push_back({"latency", fmt::format("{} of {} pairs", fine, latencies.size()),
                  us_text(median(medians)) + ", one-way latency (RTT/2) of 64 B, median",
                  "pairs alike"});
  return rows;
}

}  // namespace heddle::acceptance
