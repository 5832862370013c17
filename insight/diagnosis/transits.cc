// See transits.h.
#include "insight/diagnosis/transits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "insight/diagnosis/nic_shares.h"

namespace heddle::insight {
namespace {

constexpr int64_t kBefore = std::numeric_limits<int64_t>::min();

// When a message could travel. `receiver` and `link` are of the receiver's clock.
struct Ready {
  int64_t sender = 0;
  int64_t receiver = 0;
  int64_t link = kBefore;  // the message before arrived there
};

struct Received {
  const Arrival* arrival = nullptr;
  uint32_t to = 0;
  Inflow* inflow = nullptr;
};

// A message of which both sides' times are known.
struct Measured {
  uint32_t to = 0;
  Inflow* inflow = nullptr;
  const Arrival* arrival = nullptr;
  Ready ready;
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

bool is_before(const Departure& one, const Departure& other) {
  return std::tie(one.to, one.channel, one.sequence) <
         std::tie(other.to, other.channel, other.sequence);
}

// `sender`'s departures are sorted.
const Departure* departure_of(const Part& sender, uint32_t to, const Arrival& arrival) {
  const Departure wanted{.to = to, .sequence = arrival.sequence, .channel = arrival.channel};
  const auto at =
      std::lower_bound(sender.departures.begin(), sender.departures.end(), wanted, is_before);
  return at == sender.departures.end() || is_before(wanted, *at) ? nullptr : &*at;
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
        add(inflow, inflow.arrivals[i], ready, {});
        ready.link = ready.receiver = inflow.arrivals[i].at;
        ready.sender = sender.inflows[0].arrivals[i].at;
      }
    }
  }

  // A rank's n-th message follows the one before in either direction. Of clocks that differ the
  // message that it waited for may seem to come later than itself, so all are numbered first.
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
      return times[std::min(number, times.size() - 1)];
    };
    const std::vector<Received> messages = in_order();
    for (const Received& each : messages) {
      received[each.to].push_back(each.arrival->at);
      sent[each.inflow->from].push_back(each.arrival->at);
    }
    std::vector<size_t> number_received(ranks);
    std::vector<size_t> number_sent(ranks);
    for (const Received& each : messages) {
      const uint32_t from = each.inflow->from;
      const size_t first = number_sent[from]++;
      const size_t second = number_received[each.to]++;
      Ready ready{.sender = std::max(before(sent[from], first), before(received[from], first)),
                  .receiver = before(received[each.to], second)};
      if (second > 0) {
        ready.link = ready.receiver;
        ready.sender = std::max(ready.sender, before(sent[each.to], second));
      }
      add(*each.inflow, *each.arrival, ready, {});
    }
  }

  // By the times at which both sides posted each message, whatever the order of messages. Without
  // synchronized clocks nothing is measured: when the sender was ready is unknown.
  void measure_posted() {
    if (!std::isinf(error_ns_)) measure(of_posted());
  }

  // The same of an exchange, in which each rank posts what it sends to another with what it
  // receives from it, if all receivers recorded when they posted.
  bool measure_posted_exchange() {
    if (std::isinf(error_ns_)) return false;
    std::vector<Measured> messages;
    for (uint32_t to = 0; to < operation_.parts.size(); ++to) {
      for (Inflow& inflow : operation_.parts[to].inflows) {
        if (within_host(processes_, operation_, inflow.from, to)) continue;
        const Inflow* const posted_with = inflow_of(inflow.from, to);
        if (posted_with == nullptr || posted_with->arrivals.size() != inflow.arrivals.size()) {
          return false;
        }
        int64_t last = kBefore;
        for (size_t i = 0; i < inflow.arrivals.size(); ++i) {
          const Arrival& arrival = inflow.arrivals[i];
          if (arrival.posted >= arrival.at) return false;  // it is not known
          messages.push_back(
              {to,
               &inflow,
               &arrival,
               {posted_with->arrivals[i].posted, std::max(arrival.posted, last), last}});
          last = arrival.at;
        }
      }
    }
    measure(messages);
    return true;
  }

 private:
  // What a rank receives from another; null: nothing.
  const Inflow* inflow_of(uint32_t rank, uint32_t from) const {
    const std::vector<Inflow>& inflows = operation_.parts[rank].inflows;
    const auto found =
        std::lower_bound(inflows.begin(), inflows.end(), from,
                         [](const Inflow& inflow, uint32_t value) { return inflow.from < value; });
    return found == inflows.end() || found->from != from ? nullptr : &*found;
  }

  void measure(const std::vector<Measured>& messages) {
    std::vector<Passage> passages;
    for (const Measured& each : messages) {
      const auto end = static_cast<double>(each.arrival->at);
      const auto ready = static_cast<double>(std::max(each.ready.sender, each.ready.receiver));
      passages.push_back({each.inflow->from, each.to, std::min(ready, end), end});
    }
    const std::vector<double> alone = nic_shares(passages, operation_.parts.size());
    const std::vector<double> in_turn = turns(passages);
    for (size_t i = 0; i < alone.size(); ++i) {
      add(*messages[i].inflow, *messages[i].arrival, messages[i].ready, {alone[i], in_turn[i]});
    }
  }

  // Which of a rank's messages was its n-th follows from clocks of several hosts; rounds are not
  // equally long.
  bool rounds_are_distinct() const {
    int64_t began = std::numeric_limits<int64_t>::min();
    int64_t ended = began;
    for (const Part& part : operation_.parts) {
      began = std::max(began, part.started);
      for (const Inflow& inflow : part.inflows) ended = std::max(ended, inflow.arrivals.back().at);
    }
    const auto rounds = static_cast<double>(operation_.parts.size() - 1);
    return 2 * error_ns_ * rounds <= static_cast<double>(ended) - static_cast<double>(began);
  }

  std::vector<Received> in_order() {
    std::vector<Received> all;
    for (uint32_t to = 0; to < operation_.parts.size(); ++to) {
      for (Inflow& inflow : operation_.parts[to].inflows) {
        for (const Arrival& each : inflow.arrivals) all.push_back({&each, to, &inflow});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Received& a, const Received& b) {
      return a.arrival->at < b.arrival->at;
    });
    return all;
  }

  // Messages between hosts, link by link in the order of their arrivals. The transit of one begins
  // when both sides have posted it and the one before it has arrived.
  std::vector<Measured> of_posted() {
    std::vector<Measured> all;
    for (Part& part : operation_.parts) {
      std::sort(part.departures.begin(), part.departures.end(), is_before);
    }
    for (uint32_t to = 0; to < operation_.parts.size(); ++to) {
      for (Inflow& inflow : operation_.parts[to].inflows) {
        if (inflow.from >= operation_.parts.size()) continue;
        if (within_host(processes_, operation_, inflow.from, to)) continue;
        int64_t last = kBefore;
        for (const Arrival& arrival : inflow.arrivals) {
          const Departure* const left = departure_of(operation_.parts[inflow.from], to, arrival);
          if (left != nullptr) {
            all.push_back(
                {to, &inflow, &arrival, {left->posted, std::max(arrival.posted, last), last}});
          }
          last = arrival.at;
        }
      }
    }
    return all;
  }

  // Fractions of a message's measured time that other rules of sharing a NIC predict.
  struct Shares {
    double alone = 1;
    double in_turn = 1;
  };

  // For each passage, the fraction of its time that is left after the last earlier passage of its
  // sender or receiver ended.
  std::vector<double> turns(const std::vector<Passage>& passages) const {
    std::vector<size_t> order(passages.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&passages](size_t a, size_t b) { return passages[a].end < passages[b].end; });
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::vector<double> sent(operation_.parts.size(), kNone);
    std::vector<double> received = sent;
    std::vector<double> shares(passages.size(), 1.0);
    for (const size_t i : order) {
      const Passage& each = passages[i];
      const double begin = std::max({each.begin, sent[each.from], received[each.to]});
      if (each.end > each.begin) shares[i] = (each.end - begin) / (each.end - each.begin);
      sent[each.from] = received[each.to] = each.end;
    }
    return shares;
  }

  // It began when both were ready, or, where it may have waited for a receiver that had not
  // started, already when its sender was.
  void add(Inflow& inflow, const Arrival& arrival, const Ready& ready, const Shares& shares) const {
    const auto since = [&arrival](double first, double second) {
      return std::max(0.0, static_cast<double>(arrival.at) - std::max(first, second));
    };
    const auto sender = static_cast<double>(ready.sender);
    const double least = since(sender + error_ns_, static_cast<double>(ready.receiver));
    const double most = since(sender - error_ns_, static_cast<double>(ready.link));
    const auto count = [least, most](Transit& transit, double share) {
      transit.least_ns = std::max(0.0, transit.least_ns) + share * least;
      transit.most_ns = std::max(0.0, transit.most_ns) + share * most;
    };
    count(inflow.transit, 1);
    count(inflow.alone, shares.alone);
    count(inflow.in_turn, shares.in_turn);
    inflow.measured_bytes += arrival.bytes;
    inflow.longest = std::max(inflow.longest, arrival.bytes);
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
    Transits transits(processes, operation);
    // In a reduce-scatter a rank posts what it sends to a peer, and what it receives from it, in
    // different rounds.
    const bool mutual = operation.what == events::Operation::kAlltoall ||
                        operation.what == events::Operation::kAlltoallv;
    if (!mutual || !transits.measure_posted_exchange()) transits.measure_exchange();
  } else if (started) {
    Transits(processes, operation).measure_posted();
  }
  for (Part& part : operation.parts) part.forget_messages();
}

}  // namespace heddle::insight
