// See rhythm.h.
#include "insight/diagnosis/rhythm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

using Calls = std::vector<const Operation*>;

bool are_alike(const Operation& one, const Operation& other) {
  return std::tie(one.what, one.type, one.count, one.root) ==
         std::tie(other.what, other.type, other.count, other.root);
}

// Share of the calls that are as the one a period before; 0 as soon as too few are.
double agreement(const Calls& calls, size_t period) {
  const size_t compared = calls.size() - period;
  const auto most =
      static_cast<size_t>((1 - params::kLeastRepeats) * static_cast<double>(compared));
  size_t others = 0;
  for (size_t i = 0; i < compared; ++i) {
    others += are_alike(*calls[i], *calls[i + period]) ? 0 : 1;
    if (others > most) return 0;
  }
  return 1 - static_cast<double>(others) / static_cast<double>(compared);
}

// The shortest: its multiples repeat as well.
void find_period(const Calls& calls, Rhythm& rhythm) {
  const size_t most = std::min(params::kMostPeriod, calls.size() / params::kLeastSteps);
  for (size_t period = 1; period <= most; ++period) {
    const double found = agreement(calls, period);
    if (found == 0) continue;
    rhythm.operations_a_step = period;
    rhythm.agreement = found;
    return;
  }
}

struct Steps {
  std::vector<double> ns;       // of a step; of a block their mean
  std::vector<int64_t> begins;  // since the job's beginning
};

// From the first call of one step to that of the next.
Steps steps_of(const Calls& calls, size_t period) {
  const size_t count = (calls.size() - 1) / period;
  const size_t together = (count + params::kMostStepBlocks - 1) / params::kMostStepBlocks;
  Steps steps;
  if (together == 0) return steps;
  const size_t stride = together * period;
  for (size_t i = 0; i + stride < calls.size(); i += stride) {
    const double ns =
        static_cast<double>(calls[i + stride]->began) - static_cast<double>(calls[i]->began);
    steps.ns.push_back(ns / static_cast<double>(together));
    steps.begins.push_back(calls[i]->began);
  }
  return steps;
}

// How far values lie from their median, in all.
double deviation(const std::vector<double>& values, double middle) {
  double sum = 0;
  for (const double each : values) sum += std::abs(each - middle);
  return sum;
}

// Where two medians, one before and one after, describe the steps best; if they differ by enough
// standard errors.
Rhythm::Change largest_change(const Steps& steps) {
  Rhythm::Change found;
  double least = std::numeric_limits<double>::infinity();
  const size_t count = steps.ns.size();
  for (size_t at = params::kLeastSteps; at + params::kLeastSteps <= count; ++at) {
    const auto split = steps.ns.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<double> before(steps.ns.begin(), split);
    const std::vector<double> after(split, steps.ns.end());
    const double first = median(before);
    const double second = median(after);
    const double left = deviation(before, first) + deviation(after, second);
    if (left >= least) continue;
    least = left;
    const double noise =
        std::max({spread(before, first), spread(after, second), 1e-3 * first, 1.0});
    const double error = noise * std::sqrt(1 / static_cast<double>(before.size()) +
                                           1 / static_cast<double>(after.size()));
    found = {steps.begins[at], static_cast<int64_t>(first), static_cast<int64_t>(second),
             std::abs(second - first) / error};
  }
  if (found.errors < params::kLeastSlowerErrors) return {};
  return found;
}

Rhythm rhythm_of(uint64_t communicator, const Calls& calls) {
  Rhythm rhythm;
  rhythm.communicator = communicator;
  find_period(calls, rhythm);
  if (rhythm.operations_a_step == 0) return rhythm;
  const Steps steps = steps_of(calls, rhythm.operations_a_step);
  rhythm.steps = (calls.size() - 1) / rhythm.operations_a_step;
  const double middle = median(steps.ns);
  rhythm.step_ns = static_cast<int64_t>(middle);
  if (middle > 0) rhythm.step_spread = spread(steps.ns, middle) / middle;
  rhythm.change = largest_change(steps);
  return rhythm;
}

// Those that ended since then.
size_t count_since(const OperationIndex::Ended& ended, int64_t since_ns) {
  if (ended.begin()->first.first >= since_ns) return ended.size();
  return static_cast<size_t>(std::distance(OperationIndex::since(ended, since_ns), ended.end()));
}

// Of these, `kept` with the highest numbers, by number.
Calls latest_calls(const OperationIndex::Ended& ended, int64_t since_ns, size_t kept) {
  Calls calls;
  for (auto at = OperationIndex::since(ended, since_ns); at != ended.end(); ++at) {
    calls.push_back(at->second);
  }
  std::sort(calls.begin(), calls.end(),
            [](const Operation* one, const Operation* other) { return one->key < other->key; });
  calls.erase(calls.begin(), calls.end() - static_cast<std::ptrdiff_t>(kept));
  return calls;
}

std::string step_text(int64_t ns) {
  return fmt::format("{:.3g} ms", 1e-6 * static_cast<double>(ns));
}

Verdict slower_steps(const Rhythm& rhythm) {
  const Rhythm::Change& change = rhythm.change;
  const double factor =
      static_cast<double>(change.after_ns) / static_cast<double>(change.before_ns);
  Verdict note;
  note.what = VerdictClass::kDegradation;
  note.place.kind = PlaceKind::kJob;
  note.since_ns = change.since_ns;
  note.confidence = params::kMostConfidence;
  note.cost = 1 - 1 / factor;
  note.summary = fmt::format("steps of communicator {:016x} take {:.2f} times as long since {}",
                             rhythm.communicator, factor, seconds_text(change.since_ns));
  note.evidence.push_back(fmt::format("a step of {} collectives takes {}, before {}",
                                      rhythm.operations_a_step, step_text(change.after_ns),
                                      step_text(change.before_ns)));
  note.evidence.push_back("no rank and no link stands out: all became slower alike");
  note.action =
      "see what changed for all ranks then: their input, a shared file system, clocks, "
      "other jobs";
  return note;
}

}  // namespace

bool Rhythm::regular() const {
  return operations_a_step > 0 && steps >= params::kLeastSteps &&
         step_spread <= params::kMostStepSpread;
}

std::vector<Rhythm> find_rhythms(const JobFacts& facts, int64_t since_ns,
                                 const RhythmBounds& bounds) {
  const OperationIndex::ByCommunicator& all = facts.index().collectives();
  struct Candidate {
    size_t calls = 0;
    uint64_t communicator = 0;
  };
  std::vector<Candidate> most;
  for (const auto& [communicator, ended] : all) {
    most.push_back({count_since(ended, since_ns), communicator});
  }
  std::stable_sort(most.begin(), most.end(), [](const Candidate& one, const Candidate& other) {
    return one.calls > other.calls;
  });
  most.resize(std::min(most.size(), bounds.communicators));
  std::sort(most.begin(), most.end(), [](const Candidate& one, const Candidate& other) {
    return one.communicator < other.communicator;
  });
  std::vector<Rhythm> rhythms;
  for (const Candidate& each : most) {
    if (each.calls <= params::kFirstOperations) continue;
    const size_t kept = std::min(each.calls - params::kFirstOperations, bounds.calls);
    rhythms.push_back(rhythm_of(each.communicator,
                                latest_calls(all.find(each.communicator)->second, since_ns, kept)));
  }
  return rhythms;
}

void note_slower_steps(Diagnosis& diagnosis) {
  if (!diagnosis.verdicts.empty()) return;
  for (const Rhythm& each : diagnosis.rhythms) {
    const Rhythm::Change& change = each.change;
    // Of a damaged recording, or one of a coarse clock, steps may take no time.
    if (!each.regular() || change.since_ns < 0 || change.before_ns <= 0) continue;
    if (static_cast<double>(change.after_ns) <
        params::kLeastSlower * static_cast<double>(change.before_ns)) {
      continue;
    }
    diagnosis.notes.push_back(slower_steps(each));
  }
}

}  // namespace heddle::insight
