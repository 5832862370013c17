// See late_together.h.
#include "insight/diagnosis/late_together.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

// A link that is late in an operation of one size may be as fast as others in a smaller one.
struct Kind {
  events::Operation what = events::Operation::kAllreduce;
  events::Algorithm algorithm = events::Algorithm::kOther;
  uint64_t count = 0;
  auto operator<=>(const Kind&) const = default;
};

struct Alike {
  std::vector<const Operation*> operations;
  int64_t transfer_ns = 0;
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

std::vector<const Operation*> alike_operations(const JobFacts& facts, const LateLinks& links) {
  std::map<Kind, Alike> kinds;
  for_each_completed(facts, links.communicator, [&](const Operation& operation) {
    if (operation.due < links.since_ns || operation.ended > links.until_ns) return;
    const bool any_size = operation.what == events::Operation::kAlltoallv;
    Alike& alike = kinds[{operation.what, operation.algorithm, any_size ? 0 : operation.count}];
    alike.operations.push_back(&operation);
    alike.transfer_ns += transfer_of(operation);
  });
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.transfer_ns < b.second.transfer_ns;
  });
  return most == kinds.end() ? std::vector<const Operation*>{} : most->second.operations;
}

// A late link's delay over the operation's transfer; nothing: it is not known.
using Shares = std::vector<std::optional<double>>;

Shares shares_of(const JobFacts& facts, const Operation& operation, const LateLinks& links) {
  const std::map<Link, double> delays = link_delays(facts, operation);
  Shares shares;
  for (const Link& link : links.late) {
    const auto found = delays.find(link);
    if (found == delays.end()) {
      shares.emplace_back();
      continue;
    }
    const bool matters = found->second >= static_cast<double>(params::kLeastDelayNs);
    shares.emplace_back(matters ? found->second / static_cast<double>(transfer_of(operation)) : 0);
  }
  return shares;
}

bool is_late(double share) { return share >= params::kLeastDelay; }

// How often two links were not alike, over how often they were not if each were late by chance.
class Agreement {
 public:
  explicit Agreement(const std::vector<Shares>& operations) : operations_(operations) {
    if (operations.empty()) return;
    chances_.resize(operations.front().size());
    for (size_t link = 0; link < chances_.size(); ++link) {
      size_t known = 0;
      for (const Shares& shares : operations) {
        if (!shares[link]) continue;
        ++known;
        if (is_late(*shares[link])) ++chances_[link];
      }
      chances_[link] /= static_cast<double>(std::max<size_t>(1, known));
    }
  }

  double value() const {
    double apart = 0;
    double by_chance = 0;
    for (const Shares& shares : operations_) {
      double known = 0;
      double late = 0;
      double chance = 0;
      double alone = 0;  // pairs of a link with itself
      for (size_t link = 0; link < shares.size(); ++link) {
        if (!shares[link]) continue;
        ++known;
        if (is_late(*shares[link])) ++late;
        chance += chances_[link];
        alone += chances_[link] * (1 - chances_[link]);
      }
      apart += late * (known - late);
      by_chance += chance * (known - chance) - alone;
    }
    return by_chance > 0 ? 1 - apart / by_chance : 0;
  }

 private:
  const std::vector<Shares>& operations_;
  std::vector<double> chances_;  // by link
};

bool is_most(uint32_t part, uint32_t all) {
  return all > 0 && static_cast<double>(part) >= params::kLeastFirst * static_cast<double>(all);
}

bool is_part(size_t part, size_t all) {
  return part >= params::kLeastEpisode &&
         static_cast<double>(part) >= params::kLeastPart * static_cast<double>(all);
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

}  // namespace

bool ComparedOperation::all_late() const { return is_most(late, known); }
bool ComparedOperation::none_late() const { return is_most(usual, known) && late == 0; }

ComparedOperations compare_operations(const JobFacts& facts, const LateLinks& links) {
  ComparedOperations compared;
  std::vector<Shares> all;
  for (const Operation* const operation : alike_operations(facts, links)) {
    Shares shares = shares_of(facts, *operation, links);
    ComparedOperation seen{.due = operation->due, .ended = operation->ended};
    for (const std::optional<double>& share : shares) {
      if (!share) continue;
      ++seen.known;
      if (is_late(*share)) ++seen.late;
      if (*share < params::kLeastDelay / 2) ++seen.usual;
    }
    if (seen.known == 0) continue;
    compared.operations.push_back(seen);
    all.push_back(std::move(shares));
  }
  compared.agreement = Agreement(all).value();
  return compared;
}

bool Coming::comes_and_goes() const {
  return is_part(all, operations()) && is_part(none, operations()) &&
         comings >= params::kLeastFlaps && agreement >= params::kLeastAgreement;
}

bool Coming::stays() const { return is_part(all, operations()) && !is_part(none, operations()); }

Coming coming_of(const ComparedOperations& compared) {
  Coming coming{.agreement = compared.agreement};
  bool rested = false;  // since they were late
  for (const ComparedOperation& each : compared.operations) {
    if (each.all_late()) {
      ++coming.all;
      if (rested) ++coming.comings;
      rested = false;
    } else if (each.none_late()) {
      ++coming.none;
      rested = true;
    } else {
      ++coming.some;
    }
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

Beside beside_other(const ComparedOperations& compared, const JobFacts& facts,
                    uint64_t communicator) {
  const BusyTimes busy(facts, communicator);
  Beside beside;
  for (const ComparedOperation& each : compared.operations) {
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
