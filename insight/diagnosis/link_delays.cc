// See link_delays.h.
#include "insight/diagnosis/link_delays.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"

namespace heddle::insight {
namespace {

// Within a host its scheduler is measured.
std::map<Link, const Inflow*> inflows_between_hosts(const JobFacts& facts,
                                                    const Operation& operation) {
  std::map<Link, const Inflow*> inflows;
  for (uint32_t to = 0; to < operation.parts.size(); ++to) {
    for (const Inflow& inflow : operation.parts[to].inflows) {
      if (inflow.from >= operation.parts.size()) continue;
      if (within_host(facts.processes(), operation, inflow.from, to)) continue;
      inflows[{inflow.from, to}] = &inflow;
    }
  }
  return inflows;
}

// Links whose messages are alike, so that each costs as much.
using Alike = std::vector<std::pair<Link, const Inflow*>>;

// Where the size is not a power of two, the first ranks are folded in pairs.
uint32_t position_of(uint32_t rank, uint32_t ranks) {
  const uint32_t extra = ranks - std::bit_floor(ranks);
  return rank < 2 * extra ? rank / 2 : rank - extra;
}

// Which part of the algorithm uses the link. Links of different parts may have another way through
// the network: neighbors are often below one switch.
uint32_t role_of(const Operation& operation, const Link& link) {
  switch (operation.algorithm) {
    case events::Algorithm::kTwoLevel: {
      const uint32_t group = std::max(operation.group_ranks, 1u);
      return link.first / group == link.second / group ? 0 : 1;
    }
    case events::Algorithm::kRecursiveDoubling:
    case events::Algorithm::kHalvingDoubling: {
      const auto ranks = static_cast<uint32_t>(operation.parts.size());
      return static_cast<uint32_t>(
          std::bit_width(position_of(link.first, ranks) ^ position_of(link.second, ranks)));
    }
    default:
      return 0;
  }
}

// A byte costs more in a short message. Sizes of an all-to-all-v differ from link to link.
std::vector<Alike> alike(const Operation& operation, const std::map<Link, const Inflow*>& inflows) {
  struct Kind {
    uint32_t role = 0;
    uint64_t longest = 0;
    auto operator<=>(const Kind&) const = default;
  };
  const bool any_size = operation.what == events::Operation::kAlltoallv;
  std::vector<std::pair<Kind, Alike::value_type>> all;
  for (const auto& [link, inflow] : inflows) {
    if (inflow->transit.most_ns < 0 || inflow->measured_bytes == 0) continue;
    all.push_back({{role_of(operation, link), any_size ? 0 : inflow->longest}, {link, inflow}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Alike> groups;
  Kind first;
  for (const auto& [kind, link] : all) {
    const bool joins = !groups.empty() && kind.role == first.role &&
                       static_cast<double>(kind.longest) <=
                           params::kAlikeSizes * static_cast<double>(first.longest);
    if (!joins) {
      groups.emplace_back();
      first = kind;
    }
    groups.back().push_back(link);
  }
  return groups;
}

void add_delays(const Alike& links, Transit Inflow::*transit, std::map<Link, double>& delays) {
  std::vector<double> paces;  // ns a byte
  for (const auto& [link, inflow] : links) {
    paces.push_back((inflow->*transit).most_ns / static_cast<double>(inflow->measured_bytes));
  }
  const double usual = quantile(std::move(paces), params::kUsualLink);
  for (const auto& [link, inflow] : links) {
    const double delay =
        (inflow->*transit).least_ns - usual * static_cast<double>(inflow->measured_bytes);
    const auto [at, fresh] = delays.try_emplace(link, delay);
    if (!fresh) at->second = std::min(at->second, delay);
  }
}

// By transits. A link that is surely slower than the usual one can be is late. Short messages of a
// rank pass each other, longer ones take turns, long ones share its NIC: a link is late that is so
// whatever they did.
std::map<Link, double> transit_delays(const Operation& operation,
                                      const std::map<Link, const Inflow*>& inflows) {
  std::map<Link, double> delays;
  for (const Alike& links : alike(operation, inflows)) {
    if (links.size() < 2) continue;
    add_delays(links, &Inflow::transit, delays);
    add_delays(links, &Inflow::alone, delays);
    add_delays(links, &Inflow::in_turn, delays);
  }
  return delays;
}

// A transfer's time as NCCL's proxy measured it, over all of an operation's transfer: half of the
// surplus, so that a link of half the rate counts as in a ring.
std::map<Link, double> proxy_delays(const std::map<Link, const Inflow*>& inflows,
                                    int64_t transfer_ns) {
  std::vector<double> waits;
  for (const auto& [link, inflow] : inflows) {
    if (inflow->network_wait_ns >= 0) waits.push_back(inflow->network_wait_ns);
  }
  if (waits.size() < 3) return {};
  const double usual = median(std::move(waits));
  std::map<Link, double> delays;
  for (const auto& [link, inflow] : inflows) {
    if (inflow->network_wait_ns <= 0) continue;
    delays[link] = (1 - usual / inflow->network_wait_ns) / 2 * static_cast<double>(transfer_ns);
  }
  return delays;
}

}  // namespace

std::map<Link, double> link_delays(const JobFacts& facts, const Operation& operation) {
  const auto inflows = inflows_between_hosts(facts, operation);
  std::map<Link, double> delays = transit_delays(operation, inflows);
  if (!delays.empty()) return delays;
  return proxy_delays(inflows, std::max<int64_t>(0, operation.ended - operation.due));
}

}  // namespace heddle::insight
