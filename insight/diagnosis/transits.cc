// See transits.h.
#include "insight/diagnosis/transits.h"

#include <algorithm>
#include <limits>

namespace heddle::insight {
namespace {

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
      int64_t received = part.started;
      int64_t sendable = sender.started;
      for (size_t i = 0; i < inflow.arrivals.size(); ++i) {
        add(inflow, inflow.arrivals[i], received, sendable);
        received = inflow.arrivals[i];
        sendable = sender.inflows[0].arrivals[i];
      }
    }
  }

  // A rank's n-th message follows the one before in either direction.
  void measure_exchange() {
    const size_t ranks = operation_.parts.size();
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
      const int64_t others =
          std::max({before(sent[from], number_sent), before(received[from], number_sent),
                    before(sent[each.to], number_received)});
      add(*each.inflow, each.at, before(received[each.to], number_received), others);
      received[each.to].push_back(each.at);
      sent[from].push_back(each.at);
    }
  }

 private:
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

  // `received` is of the receiver's clock, `others` of others.
  void add(Inflow& inflow, int64_t at, int64_t received, int64_t others) const {
    const auto since = [at, received](double ready) {
      ready = std::max(ready, static_cast<double>(received));
      return std::max(0.0, static_cast<double>(at) - ready);
    };
    const auto own = static_cast<double>(others);
    inflow.least_transit_ns = std::max(0.0, inflow.least_transit_ns) + since(own + error_ns_);
    inflow.most_transit_ns = std::max(0.0, inflow.most_transit_ns) + since(own - error_ns_);
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
