// See loss_places.h. Samples are packets that crossed the same hops: to the destination, or to a
// switch and its answer back. That a switch limits its answers is one more place of loss, written
// as a hop from the switch to itself; it is no finding.
#include "probing/loss_places.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "probing/graph.h"
#include "probing/params.h"
#include "probing/routes.h"

namespace heddle::probing {
namespace {

struct Count {
  double sent = 0;
  double lost = 0;
  uint32_t flows = 0;
};

// A lossy place that was chosen, with others that explain as much.
struct Choice {
  size_t hop = 0;
  std::vector<size_t> same;
};

bool is_of_answers(const Hop& hop) { return hop.from == hop.to; }

class Tomography {
 public:
  void add(std::vector<Hop> hops, double sent, double lost) {
    if (hops.empty() || sent <= 0) return;
    std::sort(hops.begin(), hops.end());
    hops.erase(std::unique(hops.begin(), hops.end()), hops.end());
    Count& count = counts_[hops];
    count.sent += sent;
    count.lost += lost;
    ++count.flows;
  }

  std::vector<Choice> choose() {
    index();
    std::vector<Choice> chosen;
    size_t links = 0;
    while (links < params::kMostLossyLinks) {
      std::vector<double> gains(hops_.size());
      for (size_t i = 0; i < hops_.size(); ++i) gains[i] = loss_[i] > 0 ? 0 : gain_of(i);
      const size_t best = std::max_element(gains.begin(), gains.end()) - gains.begin();
      if (gains.empty() || gains[best] < least_gain()) break;
      Choice choice{best, {}};
      for (size_t i = 0; i < gains.size(); ++i) {
        if (i != best && gains[i] > gains[best] - params::kSameGain) choice.same.push_back(i);
      }
      chosen.push_back(std::move(choice));
      links += is_of_answers(hops_[best]) ? 0 : 1;
      loss_[best] = fit(best).first;
      refit(chosen);
    }
    drop_explained(chosen);
    return chosen;
  }

  const Hop& hop(size_t i) const { return hops_[i]; }
  double loss(size_t i) const { return loss_[i]; }

  // Flows over a hop that lost packets, and flows that lost none over others.
  std::pair<uint32_t, uint32_t> flows(size_t i) const {
    uint32_t bad = 0;
    uint32_t good = 0;
    for (const Sample& sample : samples_) {
      const bool over = std::find(sample.hops.begin(), sample.hops.end(), i) != sample.hops.end();
      if (over && sample.count.lost > 0) bad += sample.count.flows;
      if (!over && sample.count.lost == 0) good += sample.count.flows;
    }
    return {bad, good};
  }

 private:
  struct Sample {
    std::vector<size_t> hops;
    Count count;
    bool is_of_answers = false;
  };

  void index() {
    std::map<Hop, size_t> numbers;
    for (const auto& [hops, count] : counts_) {
      Sample sample{{}, count, std::any_of(hops.begin(), hops.end(), is_of_answers)};
      for (const Hop& each : hops) {
        const auto [at, is_new] = numbers.emplace(each, hops_.size());
        if (is_new) hops_.push_back(each);
        sample.hops.push_back(at->second);
      }
      samples_.push_back(std::move(sample));
    }
    loss_.assign(hops_.size(), 0);
    over_.resize(hops_.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      for (const size_t each : samples_[i].hops) over_[each].push_back(i);
    }
  }

  // Of all links, one in 3,000 fabrics is blamed by chance.
  double least_gain() const {
    return params::kLeastGain + std::log(static_cast<double>(hops_.size()));
  }

  void refit(const std::vector<Choice>& chosen) {
    for (int pass = 0; pass < 3; ++pass) {
      for (const Choice& each : chosen) loss_[each.hop] = fit(each.hop).first;
    }
  }

  // A link that was blamed first may be innocent beside those that were found later.
  void drop_explained(std::vector<Choice>& chosen) {
    for (;;) {
      const auto gain = [&](const Choice& choice) {
        return likelihood(choice.hop, loss_[choice.hop]) - likelihood(choice.hop, 0);
      };
      const auto least =
          std::min_element(chosen.begin(), chosen.end(),
                           [&](const Choice& a, const Choice& b) { return gain(a) < gain(b); });
      if (least == chosen.end() || gain(*least) >= least_gain()) return;
      loss_[least->hop] = 0;
      chosen.erase(least);
      refit(chosen);
    }
  }

  // Of the samples over a hop if it loses this share.
  double likelihood(size_t hop, double share, bool deliveries_only = false) const {
    double sum = 0;
    for (const size_t i : over_[hop]) {
      if (deliveries_only && samples_[i].is_of_answers) continue;
      double passes = 1 - params::kBackgroundLoss;
      for (const size_t each : samples_[i].hops) passes *= 1 - (each == hop ? share : loss_[each]);
      const Count& count = samples_[i].count;
      sum += count.lost * std::log(std::max(1 - passes, 1e-12)) +
             (count.sent - count.lost) * std::log(std::max(passes, 1e-12));
    }
    return sum;
  }

  // The likeliest share, by golden section over its logarithm, and its likelihood.
  std::pair<double, double> fit(size_t hop, bool deliveries_only = false) const {
    constexpr double kRatio = 0.618;
    double low = std::log(1e-5);
    double high = std::log(0.9999);
    for (int step = 0; step < 40; ++step) {
      const double left = high - (high - low) * kRatio;
      const double right = low + (high - low) * kRatio;
      const bool is_left = likelihood(hop, std::exp(left), deliveries_only) >
                           likelihood(hop, std::exp(right), deliveries_only);
      (is_left ? high : low) = is_left ? right : left;
    }
    const double share = std::exp((low + high) / 2);
    return {share, likelihood(hop, share, deliveries_only)};
  }

  // Zero for a link that deliveries alone do not blame: switches limit answers. These only
  // separate places.
  double gain_of(size_t hop) const {
    const bool needs_deliveries = !is_of_answers(hops_[hop]);
    const bool loses = std::any_of(over_[hop].begin(), over_[hop].end(), [&](size_t i) {
      return samples_[i].count.lost > 0 && !(needs_deliveries && samples_[i].is_of_answers);
    });
    if (!loses) return 0;
    const bool is_evident =
        !needs_deliveries || fit(hop, true).second - likelihood(hop, 0, true) >= least_gain();
    return is_evident ? fit(hop).second - likelihood(hop, 0) : 0;
  }

  std::map<std::vector<Hop>, Count> counts_;
  std::vector<Hop> hops_;
  std::vector<Sample> samples_;
  std::vector<std::vector<size_t>> over_;  // samples over a hop
  std::vector<double> loss_;               // of hops that were chosen
};

void add_samples(const Observations& observations, const FoundFabric& found,
                 Tomography& tomography) {
  const Graph graph(found);
  for (const auto& [key, flow] : observations.flows) {
    const FoundRoute& route = found.routes.at(key);
    if (flow.delivered > 0 && route.is_complete()) {
      const uint32_t lost = flow.sent - std::min(flow.delivered, flow.sent);
      tomography.add(hops_of(key, route), flow.sent, lost);
    }
    std::vector<Hop> hops;
    Place at = nic_place(key.from);
    for (size_t i = 0; i < flow.hops.size() && i < route.switches.size(); ++i) {
      if (!route.switches[i]) break;
      const Place next = switch_place(*route.switches[i]);
      hops.push_back({at, next});
      at = next;
      const HopProbes& probes = flow.hops[i];
      if (probes.sent < params::kLeastHopProbes || probes.answered == 0) continue;
      const auto back = graph.only_route(at, nic_place(key.from));
      if (!back) continue;
      std::vector<Hop> both = hops;
      both.insert(both.end(), back->begin(), back->end());
      both.push_back({at, at});
      tomography.add(std::move(both), probes.sent,
                     probes.sent - std::min(probes.answered, probes.sent));
    }
  }
}

}  // namespace

void find_lossy_links(const Observations& observations, FoundFabric& found) {
  Tomography tomography;
  add_samples(observations, found, tomography);
  for (const Choice& choice : tomography.choose()) {
    if (is_of_answers(tomography.hop(choice.hop))) continue;
    Finding finding{.kind = FindingKind::kLossy, .places = {}, .evidence = {}};
    finding.places.push_back(tomography.hop(choice.hop));
    for (const size_t same : choice.same) {
      if (!is_of_answers(tomography.hop(same))) finding.places.push_back(tomography.hop(same));
    }
    finding.loss = tomography.loss(choice.hop);
    std::tie(finding.bad_flows, finding.good_flows) = tomography.flows(choice.hop);
    finding.evidence = fmt::format("{} flows over it lose packets, {} beside it lose none",
                                   finding.bad_flows, finding.good_flows);
    found.findings.push_back(std::move(finding));
  }
}

}  // namespace heddle::probing
