// See workload_patterns.h.
#include "topology/workload_patterns.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace heddle::topology {
namespace {

Flow& add_flow(Workload& workload, uint32_t from, uint32_t to, const PatternShape& shape) {
  const uint64_t id = workload.flows.empty() ? 1 : workload.flows.back().id + 1;
  workload.flows.push_back(
      {.id = id, .from = from, .to = to, .bytes = shape.bytes, .start = shape.start});
  return workload.flows.back();
}

void shuffle(std::vector<uint32_t>& hosts, Random& random) {
  for (size_t left = hosts.size(); left > 1; --left) {
    std::swap(hosts[left - 1], hosts[random.below(left)]);
  }
}

}  // namespace

void add_permutation(Workload& workload, std::span<const uint32_t> hosts, const PatternShape& shape,
                     Random& random) {
  CHECK(hosts.size() >= 2);
  std::vector<uint32_t> cycle(hosts.begin(), hosts.end());
  shuffle(cycle, random);
  for (size_t i = 0; i < cycle.size(); ++i) {
    add_flow(workload, cycle[i], cycle[(i + 1) % cycle.size()], shape);
  }
}

void add_incast(Workload& workload, std::span<const uint32_t> hosts, Incast incast,
                const PatternShape& shape, Random& random) {
  const auto [to, senders] = incast;
  std::vector<uint32_t> others(hosts.begin(), hosts.end());
  std::erase(others, to);
  CHECK(senders >= 1 && senders <= others.size());
  if (senders < others.size()) shuffle(others, random);
  for (uint32_t i = 0; i < senders; ++i) add_flow(workload, others[i], to, shape);
}

void add_all_to_all(Workload& workload, std::span<const uint32_t> hosts, uint32_t at_once,
                    const PatternShape& shape) {
  const size_t count = hosts.size();
  CHECK(count >= 2);
  for (size_t i = 0; i < count; ++i) {
    const auto trigger = static_cast<uint32_t>(workload.triggers.size());
    const bool windowed = at_once > 0 && at_once < count - 1;
    if (windowed) workload.triggers.push_back({.kind = TriggerKind::kEach});
    for (size_t step = 1; step < count; ++step) {
      Flow& flow = add_flow(workload, hosts[i], hosts[(i + step) % count], shape);
      if (!windowed) continue;
      flow.when_received = trigger;
      if (step > at_once) flow.waits_for = trigger;
    }
  }
}

}  // namespace heddle::topology
