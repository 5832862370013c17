// Plan of a run: see plan.h.
#include "launch/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::launch {

std::vector<RankPlace> place_ranks(uint32_t ranks, const std::vector<std::string>& hosts) {
  std::vector<RankPlace> places;
  const auto count = static_cast<uint32_t>(hosts.size());
  for (uint32_t at = 0; at < count; ++at) {
    const uint32_t here = ranks / count + (at < ranks % count ? 1 : 0);
    for (uint32_t local = 0; local < here; ++local) places.push_back({hosts[at], local, here});
  }
  return places;
}

Result<std::vector<std::string>> choose_hosts(const std::string& list,
                                              const std::vector<std::string>& known) {
  if (list.empty()) return known;
  std::vector<std::string> hosts;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    hosts.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  for (const std::string& host : hosts) {
    if (std::find(known.begin(), known.end(), host) != known.end()) continue;
    return fail(ErrorCode::kInvalid, fmt::format("cannot start a rank on '{}'", host),
                "the lab has no host of that name",
                fmt::format("choose among {}", fmt::join(known, ", ")));
  }
  return hosts;
}

Result<void> make_elastic(RunPlan& plan, uint32_t min_ranks) {
  const size_t ranks = plan.places.size();
  if (min_ranks < 1 || min_ranks > ranks) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot go on with {} ranks", min_ranks),
                fmt::format("the job has {}", ranks),
                fmt::format("give --elastic a number from 1 to {}", ranks));
  }
  plan.min_ranks = min_ranks;
  return {};
}

Result<RunPlan> plan_in_lab(const std::string& name, const std::string& list, uint32_t ranks) {
  Result<lab::Lab> lab = lab::open_lab(name);
  if (!lab) return fail(lab.error());
  std::vector<std::string> known;
  for (const topology::Host& host : lab->layout.topology.hosts) known.push_back(host.name);
  const Result<std::vector<std::string>> hosts = choose_hosts(list, known);
  if (!hosts) return fail(hosts.error());
  RunPlan plan;
  plan.places = place_ranks(ranks == 0 ? static_cast<uint32_t>(hosts->size()) : ranks, *hosts);
  plan.lab = std::move(*lab);
  return plan;
}

}  // namespace heddle::launch
