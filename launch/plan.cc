// Plan of a run: see plan.h.
#include "launch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

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

Result<Elastic> parse_elastic(const std::string& text) {
  const auto number = [](std::string_view digits) -> std::optional<uint32_t> {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    return whole && value >= 1 && value <= params::kMostLocalRanks ? std::optional(value)
                                                                   : std::nullopt;
  };
  const size_t colon = text.find(':');
  const auto min_ranks = number(std::string_view(text).substr(0, colon));
  const auto max_ranks = colon == std::string::npos ? std::nullopt : number(text.substr(colon + 1));
  if (!min_ranks || (colon != std::string::npos && (!max_ranks || *max_ranks < *min_ranks))) {
    return fail(ErrorCode::kInvalid, fmt::format("'{}' is no range of ranks", text), "",
                fmt::format("write MIN or MIN:MAX, as 2 or 2:6, with numbers from 1 to {}",
                            params::kMostLocalRanks));
  }
  return Elastic{*min_ranks, max_ranks};
}

std::string elastic_text(const Elastic& elastic) {
  return elastic.max_ranks ? fmt::format("{}:{}", elastic.min_ranks, *elastic.max_ranks)
                           : std::to_string(elastic.min_ranks);
}

Result<void> make_elastic(RunPlan& plan, const Elastic& elastic) {
  if (elastic.max_ranks && plan.remote) {
    return fail(ErrorCode::kInvalid, "cannot add ranks on other machines",
                "newcomers find the job by files that only one machine has",
                fmt::format("write --elastic {}, or start ranks on this machine or in a lab",
                            elastic.min_ranks));
  }
  const size_t ranks = plan.places.size();
  if (elastic.min_ranks < 1 || elastic.min_ranks > ranks) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot go on with {} ranks", elastic.min_ranks),
                fmt::format("the job has {}", ranks),
                fmt::format("give --elastic a number from 1 to {}", ranks));
  }
  if (elastic.max_ranks && *elastic.max_ranks < ranks) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot start {} ranks", ranks),
                fmt::format("--elastic allows {} at most", *elastic.max_ranks),
                fmt::format("write --elastic {}:{}", elastic.min_ranks, ranks));
  }
  plan.elastic = elastic;
  return {};
}

RankPlace next_place(const RunPlan& plan, const std::vector<RankPlace>& taken) {
  const std::vector<std::string> hosts =
      plan.hosts.empty() ? std::vector<std::string>{""} : plan.hosts;
  const auto ranks_on = [&taken](const std::string& host) {
    return std::count_if(taken.begin(), taken.end(),
                         [&host](const RankPlace& place) { return place.host == host; });
  };
  const auto least = std::min_element(
      hosts.begin(), hosts.end(),
      [&](const std::string& a, const std::string& b) { return ranks_on(a) < ranks_on(b); });
  RankPlace place{.host = *least, .local_size = static_cast<uint32_t>(ranks_on(*least)) + 1};
  const auto is_taken = [&](const RankPlace& other) {
    return other.host == place.host && other.local_rank == place.local_rank;
  };
  while (std::any_of(taken.begin(), taken.end(), is_taken)) ++place.local_rank;
  return place;
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
  plan.hosts = *hosts;
  return plan;
}

Result<RunPlan> plan_on_machines(const std::string& shell, const std::string& list,
                                 uint32_t ranks) {
  Result<RemoteShell> remote = parse_remote_shell(shell);
  if (!remote) return fail(remote.error());
  const Result<std::vector<RemoteHost>> hosts = parse_remote_hosts(list);
  if (!hosts) return fail(hosts.error());
  RunPlan plan;
  for (const RemoteHost& host : *hosts) plan.hosts.push_back(host.name);
  plan.places = place_ranks(ranks == 0 ? static_cast<uint32_t>(hosts->size()) : ranks, plan.hosts);
  plan.first_address = hosts->front().address;
  plan.remote = std::move(*remote);
  return plan;
}

Result<RunPlan> plan_places(const PlacesAsked& asked) {
  if (!asked.via.empty()) return plan_on_machines(asked.via, asked.hosts, asked.ranks);
  if (!asked.in_lab) {
    RunPlan plan;
    plan.places = place_ranks(asked.ranks, {""});
    return plan;
  }
  Result<RunPlan> plan = plan_in_lab(asked.lab, asked.hosts, asked.ranks);
  if (plan || !asked.lab.empty() || asked.hosts.empty()) return plan;
  Error error = plan.error();
  error.todo += "; where the hosts are other machines, add --via ssh";
  return fail(error);
}

}  // namespace heddle::launch
