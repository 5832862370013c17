// See recorded_steps.h.
#include "planner/recorded_steps.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "planner/params.h"

namespace heddle::planner {
namespace {

using topology::Action;
using topology::ActionKind;

// What makes two calls alike. Algorithms may differ: communicators choose them as they learn.
using CallShape = std::tuple<topology::CallKind, uint32_t, uint32_t, uint64_t>;

CallShape shape_of(const Action& action) {
  return {action.call, action.communicator, action.root, action.bytes};
}

std::vector<size_t> calls_of(const std::vector<Action>& actions) {
  std::vector<size_t> calls;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].kind == ActionKind::kCall) calls.push_back(i);
  }
  return calls;
}

std::vector<CallShape> shapes_of(const std::vector<Action>& actions) {
  std::vector<CallShape> shapes;
  for (const size_t call : calls_of(actions)) shapes.push_back(shape_of(actions[call]));
  return shapes;
}

// A sequence that repeats: its first call, its length, and how often it does.
struct Period {
  size_t first = 0;
  size_t length = 0;
  size_t count = 0;
};

// The shortest; length 0: none.
Period period_of(const std::vector<CallShape>& shapes) {
  for (size_t length = 1; length * (kLeastSteps + 1) <= shapes.size(); ++length) {
    Period best;
    size_t run = 0;
    for (size_t i = 0; i + length < shapes.size(); ++i) {
      run = shapes[i] == shapes[i + length] ? run + 1 : 0;
      const size_t count = run / length + 1;
      if (run > 0 && count > best.count) best = {i + 1 - run, length, count};
    }
    const auto covered = static_cast<double>(best.count * length);
    if (best.count > kLeastSteps &&
        covered >= params::kLeastCovered * static_cast<double>(shapes.size())) {
      return best;
    }
  }
  return {};
}

std::vector<StepBegin> begins_of(const Period& period, const std::vector<Action>& actions,
                                 const RankTrail& trail) {
  const std::vector<size_t> calls = calls_of(actions);
  std::vector<StepBegin> begins;
  for (size_t i = 0; i < period.count; ++i) {
    const size_t action = calls[period.first + i * period.length];
    begins.push_back({action, trail.at[action], {}});
  }
  return begins;
}

// The actions from one begin to the next.
std::vector<Action> actions_of(const std::vector<Action>& all, const StepBegin& begin,
                               const StepBegin& end) {
  std::vector<Action> actions;
  std::set<uint32_t> open;
  const auto add = [&](Action action) {
    if (action.kind == ActionKind::kCall && action.label != topology::kNoLabel) {
      open.insert(action.label);
    }
    if (action.kind == ActionKind::kWait && open.erase(action.label) == 0) return;
    actions.push_back(std::move(action));
  };
  for (size_t i = begin.action; i < std::min(end.action, all.size()); ++i) {
    Action action = all[i];
    if (i == begin.action && action.kind == ActionKind::kCompute) {
      action.span = std::max(action.span - begin.before, Nanos{});
    }
    add(std::move(action));
  }
  if (end.action < all.size() && all[end.action].kind == ActionKind::kCompute &&
      end.before > Nanos{} && end.action > begin.action) {
    Action part = all[end.action];
    part.span = std::min(part.span, end.before);
    add(std::move(part));
  }
  if (!open.empty()) {
    actions.push_back({.kind = ActionKind::kWait, .label = topology::kEveryLabel});
  }
  return actions;
}

Unexpected no_steps(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot advise on this recording", why,
              "mark each step in the program, as in docs/how-to/record_a_job.md, or give the calls "
              "of a step with --calls-per-step");
}

class Cutting {
 public:
  Cutting(const topology::Job& recorded, std::vector<RankTrail> trails)
      : recorded_(recorded), trails_(std::move(trails)) {}

  // Puts the begins of steps into all trails. Errors: kInvalid.
  Result<void> find(uint64_t calls_per_step, RecordedSteps& found) {
    const bool marked = std::all_of(trails_.begin(), trails_.end(),
                                    [](const RankTrail& trail) { return trail.steps.size() > 1; });
    found.marked = marked && calls_per_step == 0;
    if (!found.marked) {
      if (Result<void> placed = place(calls_per_step); !placed) return placed;
    }
    for (RankTrail& trail : trails_) {
      count_ = std::min(count_, trail.steps.size());
      if (found.marked) trail.steps.push_back({SIZE_MAX, trail.ended, {}});
    }
    if (found.marked) return {};
    --count_;  // the last begin ends the last step
    return {};
  }

  topology::Job step(size_t number) const {
    topology::Job job = recorded_;
    job.programs.clear();
    for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      const topology::Program& whole = recorded_.programs[recorded_.ranks[rank].program];
      const std::vector<StepBegin>& begins = trails_[rank].steps;
      job.programs.push_back(
          {.actions = actions_of(whole.actions, begins[number], begins[number + 1]),
           .repeat = 1,
           .labels = whole.labels});
      job.ranks[rank].program = rank;
    }
    return job;
  }
  Nanos took(size_t number) const {
    Nanos sum;
    for (const RankTrail& trail : trails_) {
      sum += trail.steps[number + 1].at - trail.steps[number].at;
    }
    return nanos(sum.count / static_cast<int64_t>(trails_.size()));
  }
  size_t count() const { return count_; }

 private:
  Result<void> place(uint64_t calls_per_step) {
    for (uint32_t rank = 0; rank < trails_.size(); ++rank) {
      const std::vector<Action>& actions =
          recorded_.programs[recorded_.ranks[rank].program].actions;
      const std::vector<CallShape> shapes = shapes_of(actions);
      Period period = calls_per_step > 0 ? Period{0, calls_per_step, shapes.size() / calls_per_step}
                                         : period_of(shapes);
      if (period.length == 0) {
        return no_steps("rank " + std::to_string(rank) + " marks no steps, and its " +
                        std::to_string(shapes.size()) + " calls do not repeat");
      }
      trails_[rank].steps = begins_of(period, actions, trails_[rank]);
    }
    return {};
  }

  const topology::Job& recorded_;
  std::vector<RankTrail> trails_;
  size_t count_ = SIZE_MAX;
};

bool same_calls(const topology::Job& one, const topology::Job& other) {
  for (size_t i = 0; i < one.programs.size(); ++i) {
    if (shapes_of(one.programs[i].actions) != shapes_of(other.programs[i].actions)) return false;
  }
  return true;
}

bool has_calls(const topology::Job& job) {
  return std::any_of(job.programs.begin(), job.programs.end(),
                     [](const topology::Program& each) { return !calls_of(each.actions).empty(); });
}

}  // namespace

Result<RecordedSteps> cut_steps(const topology::Job& recorded, std::vector<RankTrail> trails,
                                uint64_t calls_per_step) {
  Cutting cutting(recorded, std::move(trails));
  RecordedSteps found;
  if (Result<void> placed = cutting.find(calls_per_step, found); !placed) {
    return fail(placed.error());
  }
  const size_t count = cutting.count();
  if (count < kLeastSteps + 1) {
    return no_steps("it has " + std::to_string(count) +
                    " steps: " + std::to_string(kLeastSteps + 1) +
                    " are the fewest, since the first one counts "
                    "for nothing");
  }
  // The end of the last marked step is not marked: what follows its last event is not known.
  const size_t end = found.marked && count > kLeastSteps + 1 ? count - 1 : count;
  const topology::Job typical = cutting.step(count / 2);
  if (!has_calls(typical)) return no_steps("its steps make no calls that all ranks recorded");
  for (size_t i = 1; i < end; ++i) {
    topology::Job job = cutting.step(i);
    if (!same_calls(job, typical)) continue;
    found.jobs.push_back(std::move(job));
    found.took.push_back(cutting.took(i));
  }
  found.left_out = count - found.jobs.size();
  if (found.jobs.size() < kLeastSteps) {
    return no_steps("only " + std::to_string(found.jobs.size()) + " of " + std::to_string(count) +
                    " steps make the same calls: the pattern is irregular");
  }
  return found;
}

std::vector<double> waiting_shares(const RecordedSteps& steps) {
  std::vector<double> shares;
  for (size_t i = 0; i < steps.jobs.size(); ++i) {
    Nanos computed;
    for (const topology::JobRank& rank : steps.jobs[i].ranks) {
      for (const Action& action : steps.jobs[i].programs[rank.program].actions) {
        if (action.kind == ActionKind::kCompute) computed += action.span;
      }
    }
    const double of_all =
        to_seconds(steps.took[i]) * static_cast<double>(steps.jobs[i].ranks.size());
    shares.push_back(of_all > 0 ? std::clamp(1 - to_seconds(computed) / of_all, 0.0, 1.0) : 0);
  }
  return shares;
}

}  // namespace heddle::planner
