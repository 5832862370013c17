// Unequal work by design, new with each step, as sequences of different lengths make it: see
// rules.h. All of a step's computation on a rank is longer or shorter alike, and the next step's
// has nothing to do with it. A slow rank has more work in all steps, and what slows a core for a
// while (its scheduler, other programs) does not begin and end with steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/operation_figures.h"
#include "insight/diagnosis/outliers.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

// Values by row and rank; a row's ranks are neighbors.
struct Table {
  size_t ranks = 0;
  std::vector<double> values;

  size_t rows() const { return ranks > 0 ? values.size() / ranks : 0; }
  const double* row(size_t at) const { return values.data() + at * ranks; }
  double* row(size_t at) { return values.data() + at * ranks; }
};

double mean_of(const double* row, size_t ranks) {
  double sum = 0;
  for (size_t rank = 0; rank < ranks; ++rank) sum += row[rank];
  return sum / static_cast<double>(ranks);
}

double longest_of(const double* row, size_t ranks) { return *std::max_element(row, row + ranks); }

// By how much a rank computes longer than the mean rank, as a share of that: each rank's mean over
// the rows, and what is beside it.
struct Surplus {
  std::vector<double> levels;
  Table beside;
};

Surplus surplus_of(const Table& work) {
  const size_t ranks = work.ranks;
  Surplus surplus{std::vector<double>(ranks), work};
  for (size_t at = 0; at < work.rows(); ++at) {
    const double mean = std::max(1.0, mean_of(work.row(at), ranks));
    double* const row = surplus.beside.row(at);
    for (size_t rank = 0; rank < ranks; ++rank) {
      row[rank] = std::clamp(row[rank] / mean - 1, -1.0, params::kMostLengthSurplus);
      surplus.levels[rank] += row[rank] / static_cast<double>(work.rows());
    }
  }
  for (size_t at = 0; at < work.rows(); ++at) {
    double* const row = surplus.beside.row(at);
    for (size_t rank = 0; rank < ranks; ++rank) row[rank] -= surplus.levels[rank];
  }
  return surplus;
}

// Sums over pairs of rows, by which these correlate.
struct Pairs {
  double products = 0;
  double first = 0;   // squares
  double second = 0;  // squares
  size_t count = 0;   // pairs

  void add(const Pairs& other) {
    products += other.products;
    first += other.first;
    second += other.second;
    count += other.count;
  }
  Pairs without(const Pairs& other) const {
    return {products - other.products, first - other.first, second - other.second,
            count - other.count};
  }
  double correlation() const {
    if (first <= 0 || second <= 0) return 0;
    return std::clamp(products / std::sqrt(first * second), -1.0, 1.0);
  }
};

Pairs pair_of(const double* first, const double* second, size_t ranks) {
  Pairs pair{.count = 1};
  for (size_t rank = 0; rank < ranks; ++rank) {
    pair.products += first[rank] * second[rank];
    pair.first += first[rank] * first[rank];
    pair.second += second[rank] * second[rank];
  }
  return pair;
}

// Computation before each call, and when the call had ended.
struct Work {
  Table computed;
  std::vector<int64_t> ended;
};

// Of the latest calls without the first ones; no rows: there are too few.
Work work_of(const JobFacts& facts, const Collectives& calls) {
  const size_t ranks = calls.front()->parts.size();
  Work work{{.ranks = ranks, .values = {}}, {}};
  if (calls.size() <= params::kFirstOperations) return work;
  const size_t most = std::min(params::kMostLengthCalls, params::kMostLengthParts / ranks);
  const size_t kept = std::min(calls.size() - params::kFirstOperations, most);
  for (size_t i = calls.size() - kept; i < calls.size(); ++i) {
    for (const Part& part : calls[i]->parts) {
      const std::optional<double> ns = computation_ns(facts, part);
      if (!ns) return {};
      work.computed.values.push_back(*ns);
    }
    work.ended.push_back(calls[i]->ended);
  }
  return work;
}

struct Step {
  size_t calls = 0;  // 0: none was found
  size_t first = 0;  // row of the first step's first call
};

// Neighboring calls of one step correlate, and those of two steps least: the number of calls and
// the place of the boundary by which this difference is the surest. Linear in calls and ranks, and
// at most kMostStepCalls sums a call.
Step find_step(const Table& work) {
  const Table beside = surplus_of(work).beside;
  std::vector<Pairs> pairs;  // each call but the first, with the one before
  Pairs all;
  for (size_t at = 1; at < beside.rows(); ++at) {
    pairs.push_back(pair_of(beside.row(at - 1), beside.row(at), beside.ranks));
    all.add(pairs.back());
  }
  Step step;
  double surest = 0;
  const size_t longest = std::min(params::kMostStepCalls, work.rows() / params::kLeastLengthSteps);
  for (size_t calls = 2; calls <= longest; ++calls) {
    std::vector<Pairs> across(calls);  // by the place of the boundary
    size_t place = 0;
    for (const Pairs& pair : pairs) {
      place = place + 1 == calls ? 0 : place + 1;
      across[place].add(pair);
    }
    for (place = 0; place < calls; ++place) {
      const Pairs& there = across[place];
      const double difference = all.without(there).correlation() - there.correlation();
      const double sure = difference * std::sqrt(static_cast<double>(there.count));
      if (sure <= surest) continue;
      surest = sure;
      step = {calls, place};
    }
  }
  return step;
}

// Computation by step, in all and of the first and the second half of its calls; and when the steps
// had ended.
struct Steps {
  Table whole;
  Table begin;
  Table end;
  std::vector<int64_t> ended;
};

Steps steps_of(const Work& work, const Step& step) {
  const size_t ranks = work.computed.ranks;
  const size_t count = (work.computed.rows() - step.first) / step.calls;
  const Table none{ranks, std::vector<double>(count * ranks)};
  Steps steps{none, none, none, {}};
  for (size_t i = 0; i < count; ++i) {
    for (size_t call = 0; call < step.calls; ++call) {
      const double* const computed = work.computed.row(step.first + i * step.calls + call);
      double* const half = (call < step.calls / 2 ? steps.begin : steps.end).row(i);
      for (size_t rank = 0; rank < ranks; ++rank) {
        half[rank] += computed[rank];
        steps.whole.row(i)[rank] += computed[rank];
      }
    }
    steps.ended.push_back(work.ended[step.first + (i + 1) * step.calls - 1]);
  }
  return steps;
}

// How the work of a communicator's ranks differs.
struct Imbalance {
  size_t calls = 0;  // of a step
  size_t steps = 0;
  double within = 0;     // correlation of the two halves of a step
  double across = 0;     // of a step's second half and the next step's first
  double errors = 0;     // standard errors between both
  double lost = 0;       // share of a step in which the mean rank waits for the longest; median
  double longest = 0;    // the longest rank's computation, times the mean one's; median
  size_t last_rank = 0;  // that is last most often
  size_t lasts = 0;      // steps in which it is
  bool one_has_more = false;
};

// Whether a rank has more work than the others in all steps from this one on, by more than chance
// explains.
bool has_more_in_one(const Table& whole, size_t from) {
  const auto begin = static_cast<std::ptrdiff_t>(from * whole.ranks);
  const Table later{whole.ranks, {whole.values.begin() + begin, whole.values.end()}};
  const Surplus surplus = surplus_of(later);
  const auto ranks = static_cast<double>(later.ranks);
  double squares = 0;
  for (const double value : surplus.beside.values) squares += value * value;
  const double error = std::sqrt(squares / ranks) / static_cast<double>(later.rows());
  const double highest = *std::max_element(surplus.levels.begin(), surplus.levels.end());
  // Both beside the mean of the others, which is as much below the mean as all of them make up.
  const double beside_others = ranks / (ranks - 1);
  // The highest of many is higher by chance than one's.
  const double errors =
      std::sqrt(params::kMostLengthErrors * params::kMostLengthErrors + 2 * std::log(ranks));
  return highest * beside_others >= params::kLeastLate && highest >= errors * error;
}

Imbalance imbalance_of(const Steps& steps, size_t calls) {
  const size_t ranks = steps.whole.ranks;
  Imbalance found{.calls = calls, .steps = steps.whole.rows()};
  const Table begin = surplus_of(steps.begin).beside;
  const Table end = surplus_of(steps.end).beside;
  Pairs within;
  Pairs across;
  std::vector<double> lost;
  std::vector<double> longest;
  std::vector<size_t> lasts(ranks);
  for (size_t i = 0; i < found.steps; ++i) {
    within.add(pair_of(begin.row(i), end.row(i), ranks));
    const double* const row = steps.whole.row(i);
    ++lasts[static_cast<size_t>(std::max_element(row, row + ranks) - row)];
    const double mean = mean_of(row, ranks);
    longest.push_back(longest_of(row, ranks) / std::max(1.0, mean));
    if (i == 0) continue;
    across.add(pair_of(end.row(i - 1), begin.row(i), ranks));
    const int64_t length = std::max<int64_t>(1, steps.ended[i] - steps.ended[i - 1]);
    lost.push_back((longest_of(row, ranks) - mean) / static_cast<double>(length));
  }
  found.within = within.correlation();
  found.across = across.correlation();
  found.errors = (found.within - found.across) *
                 std::sqrt(static_cast<double>(found.steps) * static_cast<double>(ranks - 1));
  found.lost = std::min(1.0, median(std::move(lost)));
  found.longest = median(std::move(longest));
  const auto most = std::max_element(lasts.begin(), lasts.end());
  found.last_rank = static_cast<size_t>(most - lasts.begin());
  found.lasts = *most;
  // It may have become slow.
  found.one_has_more =
      has_more_in_one(steps.whole, 0) || has_more_in_one(steps.whole, found.steps / 2);
  return found;
}

// Steps in which one of the ranks is last by chance, at most: of each their number is binomial.
size_t most_lasts(size_t steps, size_t ranks) {
  const double share = 1 / static_cast<double>(ranks);
  const auto all = static_cast<double>(steps);
  double chance = 0;  // that any rank is last in `lasts` of them or more
  for (size_t lasts = steps; lasts > 0; --lasts) {
    const auto some = static_cast<double>(lasts);
    const double choices =
        std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1);
    chance += static_cast<double>(ranks) *
              std::exp(choices + some * std::log(share) + (all - some) * std::log1p(-share));
    if (chance > params::kLastChance) return lasts;
  }
  return 0;
}

bool is_by_lengths(const Imbalance& found, size_t ranks) {
  return found.steps >= params::kLeastLengthSteps && found.lost >= params::kLeastLengthLost &&
         found.within >= params::kLeastWithinStep && found.across <= params::kMostAcrossSteps &&
         found.errors >= params::kLeastLengthErrors && !found.one_has_more &&
         found.lasts <= most_lasts(found.steps, ranks);
}

Verdict note_of(const JobFacts& facts, const Collectives& calls, const Imbalance& found) {
  const Operation& last = *calls.back();
  const auto ranks = static_cast<double>(last.parts.size());
  Verdict note;
  note.what = VerdictClass::kLoadImbalance;
  note.place.kind = PlaceKind::kJob;
  note.confidence = std::min(params::kMostConfidence, confidence_of({.errors = found.errors}));
  note.cost = found.lost;
  note.summary = fmt::format(
      "the work of communicator {:016x}'s ranks differs from step to step: they wait for the "
      "longest {:.0f}% of the time",
      last.key.communicator, 100 * found.lost);
  note.evidence.push_back(
      fmt::format("in {} steps of {} collectives the last rank changes: {} is it most often, in "
                  "{} of them, and a rank's equal share is {:.0f}",
                  found.steps, found.calls,
                  full_name(facts.processes()[last.parts[found.last_rank].process].party),
                  found.lasts, static_cast<double>(found.steps) / ranks));
  note.evidence.push_back(fmt::format(
      "in a step the longest rank computes {:.2f} times as long as the mean one", found.longest));
  note.evidence.push_back(
      fmt::format("the halves of a step correlate by {:.2f}, those on both sides of a step's end "
                  "by {:.2f}: the amount of work is new with each step",
                  found.within, found.across));
  note.action =
      "bucket or pack sequences by length, so that the ranks have as many tokens in a step; divide "
      "other work that depends on the data alike; if they are equally long, see whether ranks "
      "share "
      "cores";
  return note;
}

// Of all-to-alls of unequal sizes the sizes say how unequal the work is (slow.cc).
bool has_unequal_sizes(const Collectives& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const Operation* each) {
    return each->what == events::Operation::kAlltoallv;
  });
}

std::optional<Verdict> judge(const JobFacts& facts, const Collectives& calls) {
  if (has_unequal_sizes(calls)) return std::nullopt;
  const Work work = work_of(facts, calls);
  const Step step = find_step(work.computed);
  if (step.calls == 0) return std::nullopt;
  const Imbalance found = imbalance_of(steps_of(work, step), step.calls);
  if (!is_by_lengths(found, work.computed.ranks)) return std::nullopt;
  Verdict note = note_of(facts, calls, found);
  note.since_ns = work.ended[step.first];
  return note;
}

}  // namespace

void find_length_imbalance(const JobFacts& facts, int64_t since_ns, Diagnosis& diagnosis) {
  if (!diagnosis.verdicts.empty()) return;
  const std::map<uint64_t, Collectives> all = completed_collectives(facts, since_ns);
  std::vector<const Collectives*> largest;
  for (const auto& [communicator, calls] : all) largest.push_back(&calls);
  std::stable_sort(largest.begin(), largest.end(), [](const auto* one, const auto* other) {
    return one->size() * one->front()->parts.size() > other->size() * other->front()->parts.size();
  });
  largest.resize(std::min(largest.size(), params::kMostLengthCommunicators));
  std::optional<Verdict> worst;
  for (const Collectives* const calls : largest) {
    std::optional<Verdict> note = judge(facts, *calls);
    if (note && (!worst || note->cost > worst->cost)) worst = std::move(note);
  }
  if (worst) diagnosis.notes.push_back(std::move(*worst));
}

}  // namespace heddle::insight
