// See link_verdicts.h.
#include "acceptance/link_verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "acceptance/fabric_bounds.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

using topology::Topology;

// Links that should carry alike: between the same tiers, in the same direction, of the same rate.
using PeerGroup = std::tuple<uint32_t, uint32_t, uint64_t>;

class Judge {
 public:
  Judge(const Topology& topology, const std::vector<CarriedLoad>& loads,
        const Expectations& expectations, const std::vector<std::vector<HostPair>>& rounds,
        const LinkLabel& label_of)
      : topology_(topology),
        loads_(loads),
        expectations_(expectations),
        label_of_(label_of),
        tiers_(tiers_of(topology)),
        offered_(offered_by(topology, rounds)) {
    for (uint32_t i = 0; i < topology_.links.size(); ++i) {
      for (const bool forward : {true, false}) {
        if (capacity_of(i, forward) == 0) continue;
        shares_[group_of(i, forward)].push_back(share_of(i, forward));
      }
    }
    for (auto& [group, shares] : shares_) std::sort(shares.begin(), shares.end());
    find_swaps();
  }

  LinkVerdicts judge() {
    for (uint32_t i = 0; i < topology_.links.size(); ++i) {
      const size_t before = verdicts_.rows.size();
      for (const bool forward : {true, false}) {
        judge_rate(i, forward);
        judge_errors(i, forward);
      }
      if (verdicts_.rows.size() > before) verdicts_.named.push_back(i);
    }
    add_others();
    return std::move(verdicts_);
  }

 private:
  const LinkLoad& load_of(uint32_t link, bool forward) const {
    return forward ? loads_[link].forward : loads_[link].backward;
  }

  uint32_t tier_of(const topology::Node& node) const {
    const bool nic = node.kind == topology::NodeKind::kNic;
    return tiers_[nic ? topology_.nics[node.index].host : topology_.hosts.size() + node.index];
  }

  PeerGroup group_of(uint32_t link, bool forward) const {
    const topology::Link& each = topology_.links[link];
    const uint32_t a = tier_of(each.a);
    const uint32_t b = tier_of(each.b);
    return {forward ? a : b, forward ? b : a, each.shape.rate.count};
  }

  std::string from_to(uint32_t link, bool forward) const {
    return direction_name(label_of_(link), forward);
  }

  double rate_of(uint32_t link) const {
    return static_cast<double>(topology_.links[link].shape.rate.count);
  }

  // Its rate, or what can come to it if that is less; 0 where nothing is known of it.
  double capacity_of(uint32_t link, bool forward) const {
    if (!loads_[link].known) return 0;
    const auto offered = offered_.find({link, forward});
    return offered == offered_.end() ? 0 : std::min(rate_of(link), offered->second);
  }

  bool is_below(uint32_t link, bool forward) const {
    const double least = capacity_of(link, forward) * expectations_.link_share;
    return load_of(link, forward).peak_bits_per_s < least;
  }

  // It had more to carry than it did.
  bool is_saturated(uint32_t link, bool forward) const {
    return is_below(link, forward) && load_of(link, forward).dropped > 0;
  }

  // Of one that has something to carry.
  double share_of(uint32_t link, bool forward) const {
    return load_of(link, forward).peak_bits_per_s / capacity_of(link, forward);
  }

  // Peers carry what they can, and it less than half as much of that.
  bool is_below_peers(uint32_t link, bool forward) const {
    const std::vector<double>& peers = shares_.at(group_of(link, forward));
    const double median = peers[peers.size() / 2];
    return median >= expectations_.link_share &&
           share_of(link, forward) * params::kBelowPeers < median;
  }

  bool are_neighbors(uint32_t link, uint32_t other) const {
    const topology::Link& a = topology_.links[link];
    const topology::Link& b = topology_.links[other];
    return link != other && (a.a == b.a || a.a == b.b || a.b == b.a || a.b == b.b);
  }

  // What a saturated link lets through is all that the links behind and before it carry.
  bool is_beside_saturated(uint32_t link) const {
    for (uint32_t i = 0; i < topology_.links.size(); ++i) {
      if (are_neighbors(link, i) && (is_saturated(i, true) || is_saturated(i, false))) return true;
    }
    return false;
  }

  // Senders that find the rate of a slow link drop some packets before it, too.
  bool is_before_slower(uint32_t link, bool forward) const {
    const LinkLoad& own = load_of(link, forward);
    for (uint32_t i = 0; i < topology_.links.size(); ++i) {
      for (const bool way : {true, false}) {
        const LinkLoad& other = load_of(i, way);
        if (are_neighbors(link, i) && is_saturated(i, way) &&
            other.peak_bits_per_s <= own.peak_bits_per_s &&
            own.dropped * params::kDropsBefore < other.dropped) {
          return true;
        }
      }
    }
    return false;
  }

  bool is_too_fast(uint32_t link, bool forward) const {
    const double rate = rate_of(link);
    return rate > 0 && load_of(link, forward).peak_bits_per_s > rate * params::kTooFast;
  }

  bool is_about(double peak, double rate) const {
    return peak >= rate * expectations_.link_share && peak <= rate * params::kTooFast;
  }

  // Between the same tiers, each at the rate that the other one should have. The slow one is seen
  // in one direction at least, and faster in none.
  bool may_be_swapped(uint32_t fast, uint32_t slow) const {
    bool seen = false;
    for (const bool way : {true, false}) {
      const auto [from, to, rate] = group_of(fast, way);
      for (const bool other : {true, false}) {
        const auto [slow_from, slow_to, planned] = group_of(slow, other);
        if (slow_from != from || slow_to != to) continue;
        const double peak = load_of(slow, other).peak_bits_per_s;
        if (peak > static_cast<double>(rate) * params::kTooFast) return false;
        seen = seen || (is_too_fast(fast, way) && planned > rate && is_below(slow, other) &&
                        is_about(peak, static_cast<double>(rate)) &&
                        is_about(load_of(fast, way).peak_bits_per_s, static_cast<double>(planned)));
      }
    }
    return seen;
  }

  // Counters of switches may be missing, so that nothing was seen to be dropped before a slow link:
  // it is found by the link that has its rate. Where several may be it and as many have their
  // rates, all are; else none is.
  void find_swaps() {
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> fast_by_slow;
    const auto links = static_cast<uint32_t>(topology_.links.size());
    for (uint32_t fast = 0; fast < links; ++fast) {
      if (!is_too_fast(fast, true) && !is_too_fast(fast, false)) continue;
      std::vector<uint32_t> slow;
      for (uint32_t i = 0; i < links; ++i) {
        if (i != fast && may_be_swapped(fast, i)) slow.push_back(i);
      }
      if (!slow.empty()) fast_by_slow[slow].push_back(fast);
    }
    for (const auto& [slow, fast] : fast_by_slow) {
      if (slow.size() > fast.size()) continue;
      for (const uint32_t link : fast) swapped_with_[link] = labels_of(slow);
      for (const uint32_t link : slow) swapped_with_[link] = labels_of(fast);
    }
  }

  std::string labels_of(const std::vector<uint32_t>& links) const {
    std::string text;
    for (const uint32_t link : links) {
      text += (text.empty() ? "" : " or ") + label_of_(link);
    }
    return text;
  }

  // What to do about a link that has another one's rate; `otherwise` where none is found.
  std::string swap_text(uint32_t link, const std::string& otherwise) const {
    const auto found = swapped_with_.find(link);
    if (found == swapped_with_.end()) return otherwise;
    return fmt::format(
        "its rate and that of {} are swapped: exchange the two cables, or the settings of the "
        "ports",
        found->second);
  }

  void judge_rate(uint32_t link, bool forward) {
    const double peak = load_of(link, forward).peak_bits_per_s;
    const double rate = rate_of(link);
    if (rate == 0) return;
    const double capacity = capacity_of(link, forward);  // 0: no flow takes it
    if (is_too_fast(link, forward)) {
      add("link rate", from_to(link, forward), rate_text(peak), "at most " + rate_text(rate),
          swap_text(link,
                    "it has another rate than the plan says: compare the port's speed and the "
                    "cable with the plan; another link may have this one's"));
    } else if (is_slow(link, forward)) {
      add("link rate", from_to(link, forward), rate_text(peak),
          fmt::format("at least {} of {}", rate_text(capacity * expectations_.link_share),
                      rate_text(capacity)),
          swap_text(link,
                    "it carries less than its rate: check the negotiated speed, lanes and optics "
                    "at both ends, and rate limits of the port"));
    } else if (capacity == 0 || is_below(link, forward)) {
      return;  // it had no more to carry
    } else {
      const double share = peak / capacity;
      double& least = verdicts_.least_share;
      least = least == 0 ? share : std::min(least, share);
    }
    ++verdicts_.judged_directions;
  }

  bool is_slow(uint32_t link, bool forward) const {
    if (!is_below(link, forward)) return false;
    return swapped_with_.contains(link) ||
           (is_saturated(link, forward) && !is_before_slower(link, forward)) ||
           (is_below_peers(link, forward) && !is_beside_saturated(link));
  }

  void add(const std::string& check, const std::string& where, const std::string& measured,
           const std::string& expected, const std::string& todo) {
    verdicts_.rows.push_back({check, where, measured, expected, Grade::kFail, todo});
  }

  void judge_errors(uint32_t link, bool forward) {
    const LinkLoad& load = load_of(link, forward);
    const uint64_t packets = forward ? loads_[link].forward_packets : loads_[link].backward_packets;
    if (load.errors == 0 || packets < params::kLeastPackets) return;
    const double per_million =
        static_cast<double>(load.errors) * 1e6 / static_cast<double>(packets);
    verdicts_.errors_per_million = std::max(verdicts_.errors_per_million, per_million);
    if (per_million <= expectations_.errors_per_million) return;
    add("link errors", from_to(link, forward),
        fmt::format("{:.3g}% of {} packets", per_million / 1e4, count_text(packets)),
        fmt::format("at most {:g}%", expectations_.errors_per_million / 1e4),
        "packets are lost or damaged on this cable: clean or replace cable and optics, then "
        "compare "
        "the error counters of both ports");
  }

  void add_others() {
    const auto links = static_cast<uint32_t>(topology_.links.size());
    const auto known = static_cast<uint32_t>(std::count_if(
        loads_.begin(), loads_.end(), [](const CarriedLoad& load) { return load.known; }));
    const auto fine = known - static_cast<uint32_t>(verdicts_.named.size());
    if (fine == 0) return;
    std::string measured =
        fmt::format("{} of {} directions judged under load", verdicts_.judged_directions,
                    2 * known);
    if (known < links) {
      measured += fmt::format("; nothing reads the counters of {} more links", links - known);
    }
    verdicts_.rows.push_back(
        {"links", fmt::format("{} of {} links", fine, links), std::move(measured),
         fmt::format("{:g}% of their rate, errors at most {:g}%", expectations_.link_share * 100,
                     expectations_.errors_per_million / 1e4),
         verdicts_.judged_directions > 0 ? Grade::kOk : Grade::kWarn,
         verdicts_.judged_directions > 0
             ? ""
             : "no link carried enough to be judged: if all of one tier are slow alike, compare "
               "their rates with the plan"});
  }

  const Topology& topology_;
  const std::vector<CarriedLoad>& loads_;
  const Expectations& expectations_;
  const LinkLabel& label_of_;
  std::vector<uint32_t> tiers_;
  std::map<LinkUse, double> offered_;
  // Of what each direction can carry, its highest rate; without those that no flow takes.
  std::map<PeerGroup, std::vector<double>> shares_;
  std::map<uint32_t, std::string> swapped_with_;  // labels of the links that have the link's rate
  LinkVerdicts verdicts_;
};

}  // namespace

std::map<LinkUse, double> offered_by(const Topology& topology,
                                     const std::vector<std::vector<HostPair>>& rounds) {
  Routes routes(topology);
  std::map<LinkUse, double> most;
  for (const std::vector<HostPair>& round : rounds) {
    std::map<LinkUse, double> now;
    const std::vector<double> rates = fluid_rates(topology, round);
    for (size_t i = 0; i < round.size(); ++i) {
      for (const auto& [use, share] : routes.links(round[i])) {
        now[use] += rates[i] * share;
      }
    }
    for (const auto& [use, rate] : now) most[use] = std::max(most[use], rate);
  }
  return most;
}

LinkVerdicts judge_links(const Topology& topology, const std::vector<CarriedLoad>& loads,
                         const Expectations& expectations,
                         const std::vector<std::vector<HostPair>>& rounds,
                         const LinkLabel& label_of) {
  return Judge(topology, loads, expectations, rounds, label_of).judge();
}

}  // namespace heddle::acceptance
