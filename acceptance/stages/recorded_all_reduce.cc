// See recorded_all_reduce.h.
#include "acceptance/stages/recorded_all_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "acceptance/stages/recorded_run.h"

namespace heddle::acceptance {
namespace {

// The largest size: one call of it takes at most about kCallTime at the bound.
uint64_t largest_size(double bound) {
  if (bound == 0) return params::kLargestUnbounded.count;
  const double bytes = bound / 8 * to_seconds(params::kCallTime);
  uint64_t size = params::kSmallestCall.count;
  while (size < params::kMostLargest.count &&
         static_cast<double>(size * params::kCallFactor) <= bytes) {
    size *= params::kCallFactor;
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

// Nothing of a side that was not measured, whose numbers are texts.
std::optional<BenchTimes> times_of(const Json& side) {
  if (!side.at("time").is_number()) return std::nullopt;
  BenchTimes times{.time_us = number_of(side, "time"),
                   .algorithm_bits_per_s = number_of(side, "alg_bw") * 8e9,
                   .bus_bits_per_s = number_of(side, "bus_bw") * 8e9,
                   .wrong = {}};
  if (side.at("nwrong").is_number()) times.wrong = count_of(number_of(side, "nwrong"));
  return times;
}

Json counted(const std::optional<uint64_t>& wrong) { return wrong ? Json(*wrong) : Json(); }

}  // namespace

Json json_of(const BenchSize& size) {
  Json in_place;
  if (size.in_place) {
    in_place = {{"time_us", size.in_place->time_us},
                {"algorithm_bits_per_s", size.in_place->algorithm_bits_per_s},
                {"bus_bits_per_s", size.in_place->bus_bits_per_s},
                {"wrong", counted(size.in_place->wrong)}};
  }
  return {{"bytes", size.bytes},
          {"count", size.count},
          {"type", size.type},
          {"redop", size.operation},
          {"root", size.root},
          {"time_us", size.time_us},
          {"algorithm_bits_per_s", size.algorithm_bits_per_s},
          {"bus_bits_per_s", size.bus_bits_per_s},
          {"wrong_out_of_place", counted(size.wrong_out_of_place)},
          {"in_place", std::move(in_place)},
          {"wrong", size.wrong}};
}

std::vector<BenchSize> sizes_of(const Json& document) {
  std::vector<BenchSize> sizes;
  const Json own = document.value("heddle", Json::object()).value("results", Json::array());
  for (const Json& row : document.value("results", Json::array())) {
    const BenchTimes outside = times_of(row.at("out_of_place")).value_or(BenchTimes());
    BenchSize size{.bytes = row.value("size", uint64_t{0}),
                   .count = row.value("count", uint64_t{0}),
                   .type = machine_text(row.value("type", "")),
                   .operation = machine_text(row.value("redop", "")),
                   .root = machine_text(row.value("root", "")),
                   .time_us = outside.time_us,
                   .algorithm_bits_per_s = outside.algorithm_bits_per_s,
                   .bus_bits_per_s = outside.bus_bits_per_s,
                   .wrong_out_of_place = outside.wrong,
                   .in_place = times_of(row.at("in_place"))};
    size.wrong = outside.wrong.value_or(0);
    if (size.in_place) size.wrong += size.in_place->wrong.value_or(0);
    if (sizes.size() < own.size()) {
      size.algorithm = machine_text(own[sizes.size()].value("algorithm", ""));
    }
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

uint64_t call_factor(const Session& session) {
  const bool full = session.options().depth == Depth::kFull;
  return full ? params::kFullCallFactor : params::kCallFactor;
}

Result<BenchResult> run_recorded_all_reduce(Session& session) {
  BenchResult result;
  const uint64_t largest = largest_size(bus_bound(session, session.all_hosts()));
  const bool full = session.options().depth == Depth::kFull;
  std::vector<std::string> words = {"heddle", "bench", "allreduce"};
  const auto ranks = session.fabric().options_for_ranks(session.all_hosts());
  words.insert(words.end(), ranks.begin(), ranks.end());
  words.insert(words.end(),
               {"-b", std::to_string(params::kSmallestCall.count), "-e", std::to_string(largest),
                "-f", std::to_string(call_factor(session)), "-n", full ? "20" : "5", "--json"});
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
