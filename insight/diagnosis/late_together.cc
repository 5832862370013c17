// See late_together.h.
#include "insight/diagnosis/late_together.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "insight/diagnosis/operation_figures.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"

namespace heddle::insight {
namespace {

// A link that is late in an operation of one size may be as fast as others in a smaller one.
struct Kind {
  events::Operation what = events::Operation::kAllreduce;
  events::Algorithm algorithm = events::Algorithm::kOther;
  uint64_t count = 0;
  auto operator<=>(const Kind&) const = default;
};

int64_t transfer_of(const Operation& operation) {
  return std::max<int64_t>(1, operation.ended - operation.due);
}

template <typename Use>
void for_each_completed(const JobFacts& facts, uint64_t communicator, const Use& use) {
  const auto& all = facts.operations();
  for (auto at = all.lower_bound({.communicator = communicator}); at != all.end(); ++at) {
    const Operation& operation = at->second;
    if (operation.key.communicator != communicator) break;
    if (operation.between_two() || operation.ended == kNever || operation.differs) continue;
    if (operation.parts.size() >= 2) use(operation);
  }
}

using Operations = std::vector<const Operation*>;

std::map<Kind, Operations> alike_operations(const JobFacts& facts, uint64_t communicator,
                                            int64_t since_ns, int64_t until_ns) {
  std::map<Kind, Operations> kinds;
  for_each_completed(facts, communicator, [&](const Operation& operation) {
    if (operation.due < since_ns || operation.ended > until_ns) return;
    const bool any_size = operation.what == events::Operation::kAlltoallv;
    const uint64_t count = any_size ? 0 : operation.count;
    kinds[{operation.what, operation.algorithm, count}].push_back(&operation);
  });
  return kinds;
}

// Of those that are alike, the ones that transfer most in all.
Operations most_transferring(const JobFacts& facts, const LateLinks& links) {
  Operations most;
  int64_t most_ns = 0;
  for (auto& [kind, operations] :
       alike_operations(facts, links.communicator, links.since_ns, links.until_ns)) {
    int64_t ns = 0;
    for (const Operation* const each : operations) ns += transfer_of(*each);
    if (ns <= most_ns) continue;
    most_ns = ns;
    most = operations;
  }
  return most;
}

// A link's delay over a transfer; nothing: it is not known.
using Shares = std::vector<std::optional<double>>;

Shares shares_of(const JobFacts& facts, const Operation& operation, const std::vector<Link>& links,
                 int64_t transfer_ns) {
  const OperationFigures& figures = figures_of(facts, operation);
  Shares shares;
  for (const Link& link : links) {
    const std::optional<double> delay_ns = figures.delay_ns(link);
    if (!delay_ns) {
      shares.emplace_back();
      continue;
    }
    const bool matters = *delay_ns >= static_cast<double>(params::kLeastDelayNs);
    shares.emplace_back(matters ? *delay_ns / static_cast<double>(transfer_ns) : 0);
  }
  return shares;
}

bool is_late(double share) { return share >= params::kLeastDelay; }

bool is_most(uint32_t part, uint32_t all) {
  return all > 0 && static_cast<double>(part) >= params::kLeastFirst * static_cast<double>(all);
}

bool is_part(size_t part, size_t all) {
  return part > 0 && static_cast<double>(part) >= params::kLeastPart * static_cast<double>(all);
}

// How much of an operation's time another communicator's run.
class BusyTimes {
 public:
  BusyTimes(const JobFacts& facts, uint64_t communicator) {
    std::vector<std::pair<int64_t, int64_t>> all;
    for_each_completed(facts, communicator, [&all](const Operation& operation) {
      if (operation.due < operation.ended) all.emplace_back(operation.due, operation.ended);
    });
    std::sort(all.begin(), all.end());
    for (const auto& [begin, end] : all) {
      if (times_.empty() || begin > times_.back().second) {
        times_.emplace_back(begin, end);
      } else {
        times_.back().second = std::max(times_.back().second, end);
      }
    }
  }

  double share(const ComparedOperation& operation) const {
    auto at = std::lower_bound(
        times_.begin(), times_.end(), operation.due,
        [](const std::pair<int64_t, int64_t>& each, int64_t due) { return each.second < due; });
    int64_t busy = 0;
    for (; at != times_.end() && at->first < operation.ended; ++at) {
      busy += std::min(at->second, operation.ended) - std::max(at->first, operation.due);
    }
    const auto all = static_cast<double>(std::max<int64_t>(1, operation.ended - operation.due));
    return static_cast<double>(busy) / all;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> times_;  // apart, in order
};

// The links' delays by operation. They are measured by the usual transfer and not by each
// operation's own, which a delay elsewhere makes longer: so all would become less at once.
class Comings {
 public:
  Comings(const Operations& operations, const JobFacts& facts, const std::vector<Link>& links)
      : links_(links.size()), operations_(operations) {
    std::vector<double> transfers;
    for (const Operation* const each : operations) {
      transfers.push_back(static_cast<double>(transfer_of(*each)));
    }
    const auto usual = std::max<int64_t>(1, static_cast<int64_t>(median(std::move(transfers))));
    for (const Operation* const each : operations) {
      shares_.push_back(shares_of(facts, *each, links, usual));
      for (std::optional<double>& share : shares_.back()) {
        if (!share) continue;
        *share = std::clamp(*share, 0.0, 1.0);
        delay_ns_ += *share * static_cast<double>(usual);
      }
    }
  }

  // Of all links in all operations.
  double delay_ns() const { return delay_ns_; }

  Coming count() const {
    const std::vector<State> states = states_of();
    const auto first = std::find(states.begin(), states.end(), State::kAll);
    if (first == states.end()) return {};
    const auto last = std::find(states.rbegin(), states.rend(), State::kAll).base();
    Coming coming;
    bool rested = true;
    for (auto at = first; at != last; ++at) {
      if (*at == State::kAll) {
        ++coming.all;
        if (rested) ++coming.comings;
        rested = false;
      } else if (*at == State::kNone) {
        ++coming.none;
        rested = true;
      } else if (*at == State::kSome) {
        ++coming.some;
      }
    }
    const auto begin = static_cast<size_t>(first - states.begin());
    const auto end = static_cast<size_t>(last - states.begin());
    coming.since_ns = operations_[begin]->due;
    coming.until_ns = operations_[end - 1]->ended;
    agree(begin, end, coming);
    return coming;
  }

 private:
  enum class State : uint8_t { kUnknown, kAll, kNone, kSome };

  std::vector<State> states_of() const {
    std::vector<double> highest;
    for (size_t link = 0; link < links_; ++link) {
      std::vector<double> values;
      for (const Shares& shares : shares_) {
        if (shares[link] && is_late(*shares[link])) values.push_back(*shares[link]);
      }
      highest.push_back(quantile(std::move(values), params::kHighestShare));
    }
    std::vector<State> states;
    for (const Shares& shares : shares_) {
      uint32_t known = 0;
      uint32_t high = 0;
      uint32_t low = 0;
      for (size_t link = 0; link < links_; ++link) {
        if (!shares[link]) continue;
        ++known;
        if (*shares[link] >= std::max(params::kLeastDelay, highest[link] / 2)) ++high;
        if (*shares[link] < std::max(params::kLeastDelay / 2, highest[link] / 4)) ++low;
      }
      states.push_back(known == 0                         ? State::kUnknown
                       : is_most(high, known)             ? State::kAll
                       : is_most(low, known) && high == 0 ? State::kNone
                                                          : State::kSome);
    }
    return states;
  }

  // The variance of a sum of n values with a variance of 1 is n + n (n - 1) r.
  void agree(size_t begin, size_t end, Coming& coming) const {
    std::vector<double> sums(end - begin);
    double varying = 0;
    double delay = 0;
    size_t known = 0;
    for (size_t link = 0; link < links_; ++link) {
      double sum = 0;
      double squares = 0;
      size_t count = 0;
      for (size_t i = begin; i < end; ++i) {
        const std::optional<double>& share = shares_[i][link];
        if (!share) continue;
        ++count;
        sum += *share;
        squares += *share * *share;
      }
      delay += sum;
      known += count;
      if (count == 0) continue;
      const double mean = sum / static_cast<double>(count);
      const double variance = squares / static_cast<double>(count) - mean * mean;
      if (variance <= 0) continue;
      ++varying;
      for (size_t i = begin; i < end; ++i) {
        const std::optional<double>& share = shares_[i][link];
        if (share) sums[i - begin] += (*share - mean) / std::sqrt(variance);
      }
    }
    coming.delay = delay / static_cast<double>(std::max<size_t>(1, known));
    if (varying < 2) return;
    double squares = 0;
    for (const double each : sums) squares += each * each;
    coming.agreement =
        (squares / static_cast<double>(sums.size()) - varying) / (varying * (varying - 1));
  }

  const size_t links_;
  const Operations& operations_;
  std::vector<Shares> shares_;  // by operation and link
  double delay_ns_ = 0;
};

}  // namespace

bool ComparedOperation::all_late() const { return is_most(late, known); }
bool ComparedOperation::none_late() const { return is_most(usual, known) && late == 0; }

std::vector<Link> LateLinks::all() const {
  std::vector<Link> links = late;
  links.insert(links.end(), with.begin(), with.end());
  return links;
}

std::vector<ComparedOperation> compare_operations(const JobFacts& facts, const LateLinks& links) {
  std::vector<ComparedOperation> compared;
  for (const Operation* const operation : most_transferring(facts, links)) {
    ComparedOperation seen{.due = operation->due, .ended = operation->ended};
    for (const std::optional<double>& share :
         shares_of(facts, *operation, links.late, transfer_of(*operation))) {
      if (!share) continue;
      ++seen.known;
      if (is_late(*share)) ++seen.late;
      if (*share < params::kLeastDelay / 2) ++seen.usual;
    }
    if (seen.known > 0) compared.push_back(seen);
  }
  return compared;
}

bool Coming::comes_and_goes() const {
  const double errors = agreement * std::sqrt(static_cast<double>(operations()));
  return is_part(all, operations()) && is_part(none, operations()) &&
         comings >= params::kLeastFlaps && agreement >= params::kLeastAgreement &&
         errors >= params::kLeastAgreementErrors;
}

bool Coming::stays() const { return is_part(all, operations()) && !is_part(none, operations()); }

Coming coming_of(const JobFacts& facts, const LateLinks& links) {
  Coming coming;
  double most_ns = 0;
  for (const auto& [kind, operations] :
       alike_operations(facts, links.communicator, links.compared_ns, INT64_MAX)) {
    const Comings comings(operations, facts, links.all());
    if (comings.delay_ns() <= most_ns) continue;
    most_ns = comings.delay_ns();
    coming = comings.count();
  }
  return coming;
}

bool Beside::depends() const {
  if (busy < params::kLeastEpisode || alone < params::kLeastEpisode) return false;
  const double late_beside = static_cast<double>(busy_late) / static_cast<double>(busy);
  const double late_alone = static_cast<double>(alone_late) / static_cast<double>(alone);
  return late_beside >= params::kLeastFirst && late_alone <= 1 - params::kLeastFirst;
}

bool Beside::is_late_alone() const {
  return alone >= params::kLeastEpisode &&
         static_cast<double>(alone_late) >= params::kLeastFirst * static_cast<double>(alone);
}

Beside beside_other(const std::vector<ComparedOperation>& compared, const JobFacts& facts,
                    uint64_t communicator) {
  const BusyTimes busy(facts, communicator);
  Beside beside;
  for (const ComparedOperation& each : compared) {
    const double share = busy.share(each);
    if (share >= params::kLeastBusy) {
      ++beside.busy;
      if (each.all_late()) ++beside.busy_late;
    } else if (share <= params::kMostBusyAlone) {
      ++beside.alone;
      if (!each.none_late()) ++beside.alone_late;
    }
  }
  return beside;
}

}  // namespace heddle::insight
