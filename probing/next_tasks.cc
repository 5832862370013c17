// See next_tasks.h.
#include "probing/next_tasks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "probing/params.h"
#include "probing/routes.h"

namespace heddle::probing {
namespace {

Task one_flow(TaskKind kind, const FlowKey& key) {
  return {.kind = kind, .from = key.from, .to = key.to, .first_port = key.source_port};
}

bool crosses(const std::vector<Hop>& hops, const std::vector<Hop>& places) {
  return std::any_of(places.begin(), places.end(), [&](const Hop& place) {
    return std::find(hops.begin(), hops.end(), place) != hops.end();
  });
}

bool shows(const Finding& finding, const FlowProbes& flow) {
  if (finding.kind == FindingKind::kLossy) return flow.delivered < flow.sent;
  return !flow.train_rates.empty();
}

// Each hop of the flow, and the flow as a whole.
void add_doubt(const FlowKey& key, size_t hops, FindingKind kind, std::vector<Task>& tasks) {
  const bool is_lossy = kind == FindingKind::kLossy;
  Task task = one_flow(is_lossy ? TaskKind::kDeliver : TaskKind::kTrain, key);
  task.count = params::kDoubtPackets;
  tasks.push_back(task);
  task.kind = is_lossy ? TaskKind::kHop : TaskKind::kTrain;
  for (size_t hop = 1; hop <= hops; ++hop) {
    task.hop = static_cast<uint8_t>(hop);
    tasks.push_back(task);
  }
}

}  // namespace

std::vector<Task> first_tasks(const std::vector<ProbedNic>& nics, const FirstTasks& options) {
  std::vector<Task> tasks;
  for (uint32_t from = 0; from < nics.size(); ++from) {
    std::vector<uint32_t> others;
    for (uint32_t i = 1; i < nics.size(); ++i) {
      const auto to = static_cast<uint32_t>((from + i) % nics.size());
      if (nics[to].host != nics[from].host) others.push_back(to);
    }
    // Spread evenly over the others, near and far.
    const size_t count =
        options.peers == 0 ? others.size() : std::min<size_t>(options.peers, others.size());
    for (size_t i = 0; i < count; ++i) {
      Task task{.from = from,
                .to = others[i * others.size() / count],
                .first_port = options.first_port,
                .ports = options.entropies};
      tasks.push_back(task);
      task.kind = TaskKind::kDeliver;
      task.count = options.deliveries;
      tasks.push_back(task);
    }
  }
  return tasks;
}

std::vector<Task> train_tasks(const Observations& observations, const FoundFabric& found) {
  std::map<Hop, uint32_t> trains;
  std::vector<Task> tasks;
  // Short routes first, which have fewer links that may be slower; then by source port, so that
  // trains of a link come from several pairs.
  std::vector<FlowKey> order;
  for (const auto& [key, flow] : observations.flows) order.push_back(key);
  const auto rank = [&](const FlowKey& key) {
    return std::pair(found.routes.at(key).switches.size(), key.source_port);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const FlowKey& a, const FlowKey& b) { return rank(a) < rank(b); });
  for (const FlowKey& key : order) {
    const FoundRoute& route = found.routes.at(key);
    if (!route.is_complete()) continue;
    const std::vector<Hop> hops = hops_of(key, route);
    const bool is_new = std::any_of(hops.begin(), hops.end(), [&](const Hop& hop) {
      return trains[hop] < params::kTrainsOfLink;
    });
    if (!is_new) continue;
    for (const Hop& hop : hops) ++trains[hop];
    tasks.push_back(one_flow(TaskKind::kTrain, key));
  }
  return tasks;
}

std::vector<Task> doubt_tasks(const Observations& observations, const FoundFabric& found) {
  std::vector<Task> tasks;
  std::set<FlowKey> asked;
  for (const Finding& finding : found.findings) {
    const bool is_open = finding.kind == FindingKind::kLossy || finding.kind == FindingKind::kSlow;
    if (!is_open) continue;
    if (finding.kind == FindingKind::kLossy && finding.places.size() < 2) continue;
    uint32_t flows = 0;
    for (const auto& [key, flow] : observations.flows) {
      const FoundRoute& route = found.routes.at(key);
      if (flows >= params::kDoubtedFlows || !route.is_complete() || !shows(finding, flow)) continue;
      if (!crosses(hops_of(key, route), finding.places) || !asked.insert(key).second) continue;
      add_doubt(key, route.switches.size(), finding.kind, tasks);
      ++flows;
    }
  }
  return tasks;
}

}  // namespace heddle::probing
