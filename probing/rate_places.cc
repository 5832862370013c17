// See rate_places.h. A link has at least the rate of the fastest trains that crossed it. A train is
// as fast as the slowest link on its route; where one link alone can be that, its rate is exact.
#include "probing/rate_places.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "probing/params.h"
#include "probing/routes.h"

namespace heddle::probing {
namespace {

struct Trains {
  std::vector<uint64_t> rates;
  uint32_t flows = 0;

  // Waiting for a processor makes trains slower more often than faster: the upper quartile.
  double rate() const {
    std::vector<uint64_t> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(sorted[sorted.size() * 3 / 4]);
  }
};

using Class = std::pair<uint32_t, uint32_t>;  // tiers from and to; 0: NICs

class Rates {
 public:
  explicit Rates(FoundFabric& found) : found_(found) {}

  // A train of this rate, and at which it left. Packets that waited for a processor can arrive
  // closer together than they left: no link is faster for that.
  void add(const std::vector<Hop>& hops, uint64_t measured, uint64_t sent) {
    if (hops.empty() || measured == 0 || sent == 0) return;
    const uint64_t rate = std::min(measured, sent);
    for (const Hop& hop : hops) crossed_[hop].push_back(rate);
    const bool is_of_sender =
        static_cast<double>(sent) < static_cast<double>(measured) * params::kSenderShare;
    if (is_of_sender) return;
    Trains& trains = trains_[hops];
    trains.rates.push_back(rate);
    ++trains.flows;
  }

  void judge() {
    for (auto& [hop, rates] : crossed_) fastest_[hop] = confirmed_rate(rates);
    for (const auto& [hops, trains] : trains_) note_bottleneck(hops, trains.rate());
    for (const auto& [hop, rate] : fastest_) {
      if (DirectionState* const state = state_of(hop)) {
        state->rate = {static_cast<uint64_t>(rate)};
        state->rate_is_exact = exact_.contains(hop);
      }
    }
    for (const auto& [hops, trains] : trains_) report(hops, trains);
  }

 private:
  // Packets that waited may have left slowly and arrived together, which makes one train of many
  // too fast: where enough crossed a link, two have to agree.
  static double confirmed_rate(std::vector<uint64_t>& rates) {
    std::sort(rates.begin(), rates.end(), std::greater<>());
    return static_cast<double>(rates[rates.size() < params::kTrainsOfLink ? 0 : 1]);
  }

  DirectionState* state_of(const Hop& hop) {
    const auto link = link_between(found_, hop.from, hop.to);
    if (!link) return nullptr;
    FoundLink& each = found_.links[*link];
    return each.a == hop.from ? &each.forward : &each.backward;
  }

  uint32_t tier_of(const Place& place) const {
    return place.kind == topology::NodeKind::kNic ? 0 : found_.switches[place.index].tier;
  }

  std::vector<Hop> bottlenecks_of(const std::vector<Hop>& hops, double rate) const {
    std::vector<Hop> slow;
    std::copy_if(hops.begin(), hops.end(), std::back_inserter(slow),
                 [&](const Hop& hop) { return fastest_.at(hop) < rate * params::kSameRate; });
    return slow;
  }

  void note_bottleneck(const std::vector<Hop>& hops, double rate) {
    const std::vector<Hop> slow = bottlenecks_of(hops, rate);
    if (slow.size() == 1) exact_.insert(slow.front());
  }

  // The median rate of links between the same tiers; zero where too few were measured.
  double usual_rate(const Hop& hop) const {
    const Class own{tier_of(hop.from), tier_of(hop.to)};
    std::vector<double> rates;
    for (const auto& [each, rate] : fastest_) {
      const bool is_sibling = Class{tier_of(each.from), tier_of(each.to)} == own;
      if (is_sibling && each != hop) rates.push_back(rate);
    }
    if (rates.size() < params::kLeastSiblings) return 0;
    std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
    return rates[rates.size() / 2];
  }

  bool is_slow(const Hop& hop) const {
    return fastest_.at(hop) < usual_rate(hop) * params::kSlowShare;
  }

  void report(const std::vector<Hop>& hops, const Trains& trains) {
    std::vector<Hop> slow = bottlenecks_of(hops, trains.rate());
    // One that is as fast as its siblings explains the train.
    const auto slow_too = [&](const Hop& hop) { return is_slow(hop); };
    if (slow.empty() || !std::all_of(slow.begin(), slow.end(), slow_too)) return;
    const auto is_exact = [&](const Hop& hop) { return exact_.contains(hop); };
    if (std::any_of(slow.begin(), slow.end(), is_exact)) {
      slow.erase(std::remove_if(slow.begin(), slow.end(), std::not_fn(is_exact)), slow.end());
    }
    for (Finding& known : found_.findings) {
      if (known.kind != FindingKind::kSlow || known.places != slow) continue;
      known.bad_flows += trains.flows;
      return;
    }
    Finding finding{.kind = FindingKind::kSlow, .places = slow, .evidence = {}};
    finding.rate = {static_cast<uint64_t>(fastest_.at(slow.front()))};
    finding.usual_rate = {static_cast<uint64_t>(usual_rate(slow.front()))};
    finding.bad_flows = trains.flows;
    const double back = fastest_of({slow.front().to, slow.front().from});
    finding.evidence = fmt::format("trains pass at {}, over its siblings at {}",
                                   rate_text(static_cast<double>(finding.rate.count)),
                                   rate_text(static_cast<double>(finding.usual_rate.count)));
    if (slow.size() == 1 && back > 0) {
      finding.evidence += fmt::format(", in the other direction at {}", rate_text(back));
    }
    found_.findings.push_back(std::move(finding));
  }

  double fastest_of(const Hop& hop) const {
    const auto at = fastest_.find(hop);
    return at == fastest_.end() ? 0 : at->second;
  }

  FoundFabric& found_;
  std::map<std::vector<Hop>, Trains> trains_;
  std::map<Hop, std::vector<uint64_t>> crossed_;
  std::map<Hop, double> fastest_;
  std::set<Hop> exact_;
};

}  // namespace

void find_slow_links(const Observations& observations, FoundFabric& found) {
  Rates rates(found);
  for (const auto& [key, flow] : observations.flows) {
    const FoundRoute& route = found.routes.at(key);
    if (route.is_complete()) {
      for (const BitsPerSec rate : flow.train_rates) {
        rates.add(hops_of(key, route), rate.count, flow.train_sent.count);
      }
    }
    std::vector<Hop> hops;
    Place at = nic_place(key.from);
    for (size_t i = 0; i < flow.hops.size() && i < route.switches.size(); ++i) {
      if (!route.switches[i]) break;
      const Place next = switch_place(*route.switches[i]);
      hops.push_back({at, next});
      at = next;
      rates.add(hops, flow.hops[i].train_rate.count, flow.train_sent.count);
    }
  }
  rates.judge();
}

}  // namespace heddle::probing
