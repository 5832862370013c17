// See recorded_all_reduce.h.
#include "acceptance/stages/recorded_all_reduce.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "acceptance/params.h"

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

std::vector<BenchSize> sizes_of(const Json& document) {
  std::vector<BenchSize> sizes;
  const Json own = document.value("heddle", Json::object()).value("results", Json::array());
  for (const Json& row : document.value("results", Json::array())) {
    const Json& side = row.at("out_of_place");
    BenchSize size{.bytes = row.value("size", uint64_t{0}),
                   .time_us = number_of(side, "time"),
                   .bus_bits_per_s = number_of(side, "bus_bw") * 8e9};
    for (const char* const each : {"out_of_place", "in_place"}) {
      size.wrong += static_cast<uint64_t>(number_of(row.at(each), "nwrong"));
    }
    if (sizes.size() < own.size()) size.algorithm = own[sizes.size()].value("algorithm", "");
    sizes.push_back(size);
  }
  return sizes;
}

// A folder that does not exist yet.
std::string new_recording(const Session& session) {
  std::string path = session.folder() + "/recording";
  for (int number = 2; access(path.c_str(), F_OK) == 0; ++number) {
    path = fmt::format("{}/recording-{}", session.folder(), number);
  }
  return path;
}

}  // namespace

double bus_bound(const Session& session) {
  std::vector<HostPair> ring;
  for (uint32_t i = 0; i < session.hosts(); ++i) ring.push_back({i, (i + 1) % session.hosts()});
  double bound = 0;
  for (const double rate : session.payload_rates(ring)) {  // 0: that pair has no limit
    if (rate > 0 && (bound == 0 || rate < bound)) bound = rate;
  }
  return bound;
}

Result<BenchResult> run_recorded_all_reduce(Session& session) {
  BenchResult result{.recording = new_recording(session)};
  const uint64_t largest = largest_size(bus_bound(session));
  const bool full = session.options().depth == Depth::kFull;
  std::vector<std::string> words = {"heddle", "bench", "allreduce"};
  const std::vector<std::string> ranks = session.fabric().options_for_ranks();
  words.insert(words.end(), ranks.begin(), ranks.end());
  words.insert(words.end(),
               {"-b", std::to_string(params::kSmallest.count), "-e", std::to_string(largest), "-f",
                full ? "2" : std::to_string(kFactor), "-n", full ? "20" : "5", "--json"});
  const std::string folder = session.fabric().folder_for_ranks(result.recording);
  const auto id = session.commands().start_here(words, {"HEDDLE_RECORD=" + folder});
  if (!id) return fail(id.error());
  session.wait({*id}, params::kBenchTime * (full ? 20 : 1));
  const CommandEnd end = session.commands().result_of(*id);
  if (session.interrupted()) {
    session.fabric().clean_up(session.commands());
    return result;
  }
  if (Result<void> here = session.fabric().collect(session.commands(), result.recording); !here) {
    return fail(std::move(here).error());
  }
  const std::optional<Json> document = document_of(end);
  try {
    if (document) result.sizes = sizes_of(*document);
  } catch (const Json::exception& error) {
    result.complaint = error.what();
  }
  if (result.sizes.empty() && result.complaint.empty()) result.complaint = complaint_of(end);
  return result;
}

}  // namespace heddle::acceptance
