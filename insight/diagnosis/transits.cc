// See transits.h.
#include "insight/diagnosis/transits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::insight {
namespace {

constexpr int64_t kBefore = std::numeric_limits<int64_t>::min();

// When a message could travel. `receiver` and `link` are of the receiver's clock.
struct Ready {
  int64_t sender = 0;
  int64_t receiver = 0;
  int64_t link = kBefore;  // the message before arrived there
};

struct Arrival {
  int64_t at = 0;
  uint32_t to = 0;
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
      : processes_(processes), operation_(operation), error_ns_(clock_error_ns()) {}

  void measure_ring() {
    for (Part& part : operation_.parts) {
      Inflow& inflow = part.inflows[0];
      const Part& sender = operation_.parts[inflow.from];
      Ready ready{.sender = sender.started, .receiver = part.started};
      if (std::isinf(error_ns_)) ready.link = part.started;  // the receiver's times alone count
      for (size_t i = 0; i < inflow.arrivals.size(); ++i) {
        add(inflow, inflow.arrivals[i], ready);
        ready.link = ready.receiver = inflow.arrivals[i];
        ready.sender = sender.inflows[0].arrivals[i];
      }
    }
  }

  // A rank's n-th message follows the one before in either direction.
  void measure_exchange() {
    const size_t ranks = operation_.parts.size();
    if (!rounds_are_distinct()) return;
    std::vector<std::vector<int64_t>> received(ranks);  // by rank, in order
    std::vector<std::vector<int64_t>> sent(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      received[rank].push_back(operation_.parts[rank].started);
      sent[rank].push_back(operation_.parts[rank].started);
    }
    const auto before = [](const std::vector<int64_t>& times, size_t number) {
      return times[std::min(number, times.size()) - 1];
    };
    for (const Arrival& each : in_order()) {
      const uint32_t from = each.inflow->from;
      const size_t number_sent = sent[from].size();
      const size_t number_received = received[each.to].size();
      Ready ready{
          .sender = std::max(before(sent[from], number_sent), before(received[from], number_sent)),
          .receiver = before(received[each.to], number_received)};
      if (number_received > 1) {
        ready.link = ready.receiver;
        ready.sender = std::max(ready.sender, before(sent[each.to], number_received));
      }
      add(*each.inflow, each.at, ready);
      received[each.to].push_back(each.at);
      sent[from].push_back(each.at);
    }
  }

 private:
  // Which of a rank's messages was its n-th follows from clocks of several hosts; rounds are not
  // equally long.
  bool rounds_are_distinct() const {
    int64_t began = std::numeric_limits<int64_t>::min();
    int64_t ended = began;
    for (const Part& part : operation_.parts) {
      began = std::max(began, part.started);
      for (const Inflow& inflow : part.inflows) ended = std::max(ended, inflow.arrivals.back());
    }
    const auto rounds = static_cast<double>(operation_.parts.size() - 1);
    return 2 * error_ns_ * rounds <= static_cast<double>(ended) - static_cast<double>(began);
  }

  std::vector<Arrival> in_order() {
    std::vector<Arrival> all;
    for (uint32_t to = 0; to < operation_.parts.size(); ++to) {
      for (Inflow& inflow : operation_.parts[to].inflows) {
        for (const int64_t at : inflow.arrivals) all.push_back({at, to, &inflow});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    return all;
  }

  // It began when both were ready, or, where it may have waited for a receiver that had not
  // started, already when its sender was.
  void add(Inflow& inflow, int64_t at, const Ready& ready) const {
    const auto since = [at](double first, double second) {
      return std::max(0.0, static_cast<double>(at) - std::max(first, second));
    };
    const auto sender = static_cast<double>(ready.sender);
    inflow.least_transit_ns = std::max(0.0, inflow.least_transit_ns) +
                              since(sender + error_ns_, static_cast<double>(ready.receiver));
    inflow.most_transit_ns = std::max(0.0, inflow.most_transit_ns) +
                             since(sender - error_ns_, static_cast<double>(ready.link));
  }

  // Of the difference of two ranks' times, at most; infinite where it is unknown.
  double clock_error_ns() const {
    int64_t most = 0;
    bool several = false;
    for (const Part& part : operation_.parts) {
      const ProcessFacts& process = processes_[part.process];
      const std::string& first = processes_[operation_.parts[0].process].party.host;
      several |= first.empty() || process.party.host != first;
      if (process.end.clock_error_ns < 0) return std::numeric_limits<double>::infinity();
      most = std::max(most, process.end.clock_error_ns);
    }
    return several ? 2 * static_cast<double>(most) : 0;
  }

  const std::vector<ProcessFacts>& processes_;
  Operation& operation_;
  const double error_ns_;
};

}  // namespace

void measure_transits(const std::vector<ProcessFacts>& processes, Operation& operation) {
  const bool started = std::all_of(operation.parts.begin(), operation.parts.end(),
                                   [](const Part& part) { return part.started != kNever; });
  const bool ring = started && is_ring(operation);
  if (ring) {
    Transits(processes, operation).measure_ring();
  } else if (started && is_exchange(operation)) {
    Transits(processes, operation).measure_exchange();
  }
  for (Part& part : operation.parts) {
    for (Inflow& inflow : part.inflows) inflow.arrivals = {};
  }
}

}  // namespace heddle::insight
