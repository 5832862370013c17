// StartOrder: see start_order.h.
#include "simulator/flows/start_order.h"

#include <algorithm>

namespace heddle::simulator {

using topology::TriggerKind;

StartOrder::StartOrder(const topology::Workload& workload)
    : workload_(workload), counters_(workload.triggers.size()) {
  for (uint32_t i = 0; i < workload_.flows.size(); ++i) {
    const topology::Flow& flow = workload_.flows[i];
    if (flow.waits_for == topology::kNoTrigger) {
      by_start_.push_back(i);
    } else {
      counters_[flow.waits_for].waiting.push_back(i);
    }
  }
  std::stable_sort(by_start_.begin(), by_start_.end(), [this](uint32_t a, uint32_t b) {
    return workload_.flows[a].start < workload_.flows[b].start;
  });
  for (size_t i = 0; i < counters_.size(); ++i) {
    const topology::Trigger& trigger = workload_.triggers[i];
    counters_[i].ends = trigger.kind == TriggerKind::kBarrier ? trigger.count : 1;
    std::reverse(counters_[i].waiting.begin(), counters_[i].waiting.end());
  }
}

Nanos StartOrder::next_at() const {
  return all_taken() ? Nanos::never() : workload_.flows[by_start_[taken_]].start;
}

std::optional<uint32_t> StartOrder::take_due(Nanos at) {
  if (all_taken() || next_at() > at) return std::nullopt;
  return by_start_[taken_++];
}

bool StartOrder::count_end(uint32_t trigger) {
  Counter& counter = counters_[trigger];
  if (counter.ends <= 1) return true;
  --counter.ends;
  return false;
}

bool StartOrder::starts_one(uint32_t trigger) const {
  return workload_.triggers[trigger].kind == TriggerKind::kEach;
}

std::optional<uint32_t> StartOrder::take_waiting(uint32_t trigger) {
  std::vector<uint32_t>& waiting = counters_[trigger].waiting;
  if (waiting.empty()) return std::nullopt;
  const uint32_t flow = waiting.back();
  waiting.pop_back();
  return flow;
}

}  // namespace heddle::simulator
