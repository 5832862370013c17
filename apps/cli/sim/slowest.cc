// Slow flows and the links on their routes: see slowest.h.
#include "apps/cli/sim/slowest.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace heddle::cli {
namespace {

using simulator::FlowOutcome;
using simulator::FlowRun;
using simulator::LinkId;
using simulator::LinkSpan;
using simulator::Network;
using simulator::NicId;
using simulator::NodeId;
using simulator::Series;

constexpr Nanos kNever = Nanos::never();

// Every link on a shortest way between any of the NICs of two hosts; not those that leave the
// sender's NICs, whose queues are its own.
std::set<LinkId> links_between(const Network& network, const std::vector<NicId>& from,
                               const std::vector<NicId>& to) {
  const auto nics = static_cast<NodeId>(network.topology().nics.size());
  std::set<LinkId> links;
  for (const NicId target : to) {
    std::set<NodeId> seen;
    std::vector<NodeId> open;
    for (const NicId source : from) {
      open.push_back(simulator::end_of(network.topology(), network.routes().egress(source)));
    }
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      if (node < nics || !seen.insert(node).second) continue;
      for (const LinkId link : network.routes().next_links(node - nics, target)) {
        links.insert(link);
        open.push_back(simulator::end_of(network.topology(), link));
      }
    }
  }
  return links;
}

class Judge {
 public:
  Judge(const FlowRun& run, const Series& series) : run_(run), series_(series) {
    for (size_t i = 0; i < series.links().size(); ++i) kept_[series.links()[i]] = i;
    const topology::Topology& topology = run.network().topology();
    nics_.resize(topology.hosts.size());
    for (NicId nic = 0; nic < topology.nics.size(); ++nic) {
      nics_[topology.nics[nic].host].push_back(nic);
    }
  }

  std::optional<WorstLink> worst_of(uint32_t flow) const {
    const topology::Flow& of = run_.workload().flows[flow];
    const FlowOutcome& outcome = run_.outcomes()[flow];
    const Nanos end = outcome.received == kNever ? series_.length() : outcome.received;
    std::optional<WorstLink> worst;
    for (const LinkId link : links_between(run_.network(), nics_[of.from], nics_[of.to])) {
      const LinkSpan span = within(link, outcome.started, end);
      const WorstLink here{link, span.drops, span.queue_peak};
      if (here.queue_peak > 0 && (!worst || worse(here, *worst))) worst = here;
    }
    return worst;
  }

 private:
  bool worse(const WorstLink& a, const WorstLink& b) const {
    if (a.drops != b.drops) return a.drops > b.drops;
    // Parts of their rooms, without a division.
    const auto room = [this](const WorstLink& each) { return run_.network().room(each.link); };
    return static_cast<Uint128>(a.queue_peak) * room(b) >
           static_cast<Uint128>(b.queue_peak) * room(a);
  }

  LinkSpan within(LinkId link, Nanos from, Nanos to) const {
    const auto kept = kept_.find(link);
    if (kept == kept_.end() || series_.run_bins().empty()) return series_.whole(link);
    const std::span<const LinkSpan> bins = series_.bins(kept->second);
    const auto first = static_cast<size_t>(from.count / series_.bin().count);
    const auto last = static_cast<size_t>(to.count / series_.bin().count);
    LinkSpan sum;
    for (size_t i = first; i <= last && i < bins.size(); ++i) {
      sum.drops += bins[i].drops;
      sum.queue_peak = std::max(sum.queue_peak, bins[i].queue_peak);
    }
    return sum;
  }

  const FlowRun& run_;
  const Series& series_;
  std::unordered_map<LinkId, size_t> kept_;  // looked up only
  std::vector<std::vector<NicId>> nics_;     // of each host
};

}  // namespace

std::vector<SlowFlow> slowest_flows(const FlowRun& run, const Series& series, size_t most) {
  std::vector<uint32_t> order;
  const std::span<const FlowOutcome> outcomes = run.outcomes();
  for (uint32_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].started != kNever) order.push_back(i);
  }
  const auto took = [&](uint32_t i) {
    return outcomes[i].received == kNever ? kNever : outcomes[i].received - outcomes[i].started;
  };
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](uint32_t a, uint32_t b) {
    return took(a) != took(b) ? took(a) > took(b) : a < b;
  });
  order.resize(static_cast<size_t>(count));
  const Judge judge(run, series);
  std::vector<SlowFlow> slow;
  for (const uint32_t flow : order) slow.push_back({flow, judge.worst_of(flow)});
  return slow;
}

}  // namespace heddle::cli
