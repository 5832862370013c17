// See transits.h.
#include "insight/diagnosis/transits.h"

#include <algorithm>
#include <limits>

namespace heddle::insight {
namespace {

struct Arrival {
  int64_t at = 0;
  uint32_t to = 0;
  uint32_t number = 0;  // at the receiver, from this sender
  Inflow* inflow = nullptr;
};

bool is_whole(const Inflow& inflow) {
  return inflow.messages > 0 && inflow.arrivals.size() == inflow.messages;
}

// Each rank receives from one other, and as many messages.
bool is_ring(const Operation& operation) {
  return std::all_of(operation.parts.begin(), operation.parts.end(), [&](const Part& part) {
    return part.inflows.size() == 1 && is_whole(part.inflows[0]) &&
           part.inflows[0].from < operation.parts.size() &&
           part.inflows[0].messages == operation.parts[0].inflows[0].messages;
  });
}

bool is_exchange(const Operation& operation) {
  const bool direct = operation.algorithm == events::Algorithm::kPairwise ||
                      operation.algorithm == events::Algorithm::kLinear;
  const size_t ranks = operation.parts.size();
  if (!direct || ranks < 3) return false;
  return std::all_of(operation.parts.begin(), operation.parts.end(), [ranks](const Part& part) {
    return part.inflows.size() + 1 == ranks &&
           std::all_of(part.inflows.begin(), part.inflows.end(), [ranks](const Inflow& inflow) {
             return is_whole(inflow) && inflow.from < ranks;
           });
  });
}

class Transits {
 public:
  Transits(const std::vector<ProcessFacts>& processes, Operation& operation)
      : processes_(processes), operation_(operation) {}

  void measure(bool ring) {
    const size_t ranks = operation_.parts.size();
    std::vector<int64_t> received(ranks);  // last, by rank
    std::vector<int64_t> sent(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      received[rank] = sent[rank] = operation_.parts[rank].started;
    }
    for (const Arrival& each : in_order()) {
      const uint32_t from = each.inflow->from;
      int64_t sendable = sent[from];
      if (ring && each.number > 0) {
        sendable = operation_.parts[from].inflows[0].arrivals[each.number - 1];
      }
      add(each, received[each.to], sendable);
      received[each.to] = each.at;
      if (!ring) sent[from] = each.at;
    }
  }

 private:
  std::vector<Arrival> in_order() {
    std::vector<Arrival> all;
    for (uint32_t to = 0; to < operation_.parts.size(); ++to) {
      for (Inflow& inflow : operation_.parts[to].inflows) {
        inflow.least_transit_ns = inflow.most_transit_ns = 0;
        uint32_t number = 0;
        for (const int64_t at : inflow.arrivals) all.push_back({at, to, number++, &inflow});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    return all;
  }

  // The receiver's times are of one clock, the sender's of another.
  void add(const Arrival& message, int64_t received, int64_t sendable) {
    const double error = clock_error_ns(message);
    const auto since = [&](double sent) {
      const double ready = std::max(static_cast<double>(received), sent);
      return std::max(0.0, static_cast<double>(message.at) - ready);
    };
    message.inflow->least_transit_ns += since(static_cast<double>(sendable) + error);
    message.inflow->most_transit_ns += since(static_cast<double>(sendable) - error);
  }

  double clock_error_ns(const Arrival& message) const {
    const ProcessFacts& from = processes_[operation_.parts[message.inflow->from].process];
    const ProcessFacts& to = processes_[operation_.parts[message.to].process];
    if (!from.party.host.empty() && from.party.host == to.party.host) return 0;
    if (from.end.clock_error_ns < 0 || to.end.clock_error_ns < 0) {
      return std::numeric_limits<double>::infinity();
    }
    return static_cast<double>(from.end.clock_error_ns) +
           static_cast<double>(to.end.clock_error_ns);
  }

  const std::vector<ProcessFacts>& processes_;
  Operation& operation_;
};

}  // namespace

void measure_transits(const std::vector<ProcessFacts>& processes, Operation& operation) {
  const bool started = std::all_of(operation.parts.begin(), operation.parts.end(),
                                   [](const Part& part) { return part.started != kNever; });
  const bool ring = started && is_ring(operation);
  if (ring || (started && is_exchange(operation))) Transits(processes, operation).measure(ring);
  for (Part& part : operation.parts) {
    for (Inflow& inflow : part.inflows) inflow.arrivals = {};
  }
}

}  // namespace heddle::insight
