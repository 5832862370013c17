// See recorded_all_reduce.h.
#include "acceptance/stages/recorded_all_reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "acceptance/params.h"
#include "acceptance/stages/recorded_run.h"

namespace heddle::acceptance {
namespace {

constexpr uint64_t kFactor = 8;  // from one size to the next

// The largest size: one call of it takes at most about kCallTime at the bound.
uint64_t largest_size(double bound) {
  if (bound == 0) return params::kLargestUnbounded.count;
  const double bytes = bound / 8 * to_seconds(params::kCallTime);
  uint64_t size = params::kSmallest.count;
  while (size < params::kMostLargest.count && static_cast<double>(size * kFactor) <= bytes) {
    size *= kFactor;
  }
  return size;
}

// Of ports that send; a machine's or a lab's host has its first port there.
HostRates rates_of_hosts(const topology::Topology& topology,
                         const std::vector<CarriedLoad>& loads) {
  HostRates rates;
  for (size_t i = 0; i < loads.size() && i < topology.links.size(); ++i) {
    const topology::Link& link = topology.links[i];
    for (const bool forward : {true, false}) {
      if ((forward ? link.a : link.b).kind != topology::NodeKind::kNic) continue;
      const double peak = (forward ? loads[i].forward : loads[i].backward).peak_bits_per_s;
      if (peak <= 0) continue;
      const bool first = rates.most_bits_per_s == 0;
      rates.least_bits_per_s = first ? peak : std::min(rates.least_bits_per_s, peak);
      rates.most_bits_per_s = std::max(rates.most_bits_per_s, peak);
      const auto rate = static_cast<double>(link.shape.rate.count);
      if (rate > 0) rates.share = std::max(rates.share, peak / rate);
    }
  }
  return rates;
}

}  // namespace

std::vector<BenchSize> sizes_of(const Json& document) {
  std::vector<BenchSize> sizes;
  const Json own = document.value("heddle", Json::object()).value("results", Json::array());
  for (const Json& row : document.value("results", Json::array())) {
    const Json& side = row.at("out_of_place");
    BenchSize size{.bytes = row.value("size", uint64_t{0}),
                   .count = row.value("count", uint64_t{0}),
                   .type = row.value("type", ""),
                   .time_us = number_of(side, "time"),
                   .algorithm_bits_per_s = number_of(side, "alg_bw") * 8e9,
                   .bus_bits_per_s = number_of(side, "bus_bw") * 8e9};
    for (const char* const each : {"out_of_place", "in_place"}) {
      size.wrong += static_cast<uint64_t>(number_of(row.at(each), "nwrong"));
    }
    if (sizes.size() < own.size()) size.algorithm = own[sizes.size()].value("algorithm", "");
    sizes.push_back(size);
  }
  return sizes;
}

double bus_bound(const Session& session, const std::vector<uint32_t>& hosts) {
  std::vector<HostPair> ring;
  for (size_t i = 0; i < hosts.size(); ++i) {
    ring.push_back({hosts[i], hosts[(i + 1) % hosts.size()]});
  }
  double bound = 0;
  for (const double rate : session.payload_rates(ring)) {  // 0: that pair has no limit
    if (rate > 0 && (bound == 0 || rate < bound)) bound = rate;
  }
  return bound;
}

Result<BenchResult> run_recorded_all_reduce(Session& session) {
  BenchResult result;
  const uint64_t largest = largest_size(bus_bound(session, session.all_hosts()));
  const bool full = session.options().depth == Depth::kFull;
  std::vector<std::string> words = {"heddle", "bench", "allreduce"};
  const auto ranks = session.fabric().options_for_ranks(session.all_hosts());
  words.insert(words.end(), ranks.begin(), ranks.end());
  words.insert(words.end(),
               {"-b", std::to_string(params::kSmallest.count), "-e", std::to_string(largest), "-f",
                full ? "2" : std::to_string(kFactor), "-n", full ? "20" : "5", "--json"});
  if (const auto before = session.take_loads(); !before) return fail(before.error());
  Result<RecordedRun> run = run_recorded(
      session, "recording", {words, session.all_hosts(), params::kBenchTime * (full ? 20 : 1)});
  if (!run) return fail(std::move(run).error());
  result.recording = run->recording;
  if (session.interrupted()) return result;
  const auto loads = session.take_loads();
  if (!loads) return fail(loads.error());
  result.wire = rates_of_hosts(session.topology(), *loads);
  const std::optional<Json> document = document_of(run->end);
  try {
    if (document) result.sizes = sizes_of(*document);
  } catch (const Json::exception& error) {
    result.complaint = error.what();
  }
  if (result.sizes.empty() && result.complaint.empty()) result.complaint = complaint_of(run->end);
  return result;
}

}  // namespace heddle::acceptance
