// See counts.h.
#include "steering/counts.h"

namespace heddle::steering {
namespace {

using metrics::Family;
using metrics::Label;
using metrics::Type;

}  // namespace

Counts::Counts(const Policy& policy, bool acts) : acts_(acts) {
  for (const Rule& rule : policy.rules) {
    OfRule& made = rules_[rule.name];
    made.action = name_of(rule.action.kind);
    for (const Outcome each : all_outcomes()) {
      made.actions[each] = 0;
      if (rule.action.undo) made.undone[each] = 0;
    }
  }
}

// A test is over with the next decision of its rule and target.
void Counts::add_test(OfRule& rule, const Decision& decision) {
  const std::pair<std::string, std::string> key(decision.rule, decision.target);
  if (decision.outcome == Outcome::kTesting) {
    testing_.insert(key);
    return;
  }
  if (testing_.erase(key) == 0) return;
  if (decision.outcome == Outcome::kNotConfirmed) {
    ++rule.not_confirmed;
  } else if (decision.outcome == Outcome::kNotTested) {
    ++rule.not_tested;
  } else {
    ++rule.confirmed;
  }
}

void Counts::add(const Decision& decision) {
  OfRule& rule = rules_[decision.rule];
  if (rule.action.empty()) rule.action = decision.action;
  ++(decision.undo ? rule.undone : rule.actions)[decision.outcome];
  if (decision.by_limit) ++rule.refused_by_limits;
  add_test(rule, decision);
}

std::vector<Family> Counts::families(const std::string& recording) const {
  Family acting{"heddle_steering_acts",
                "1: decisions are carried out; 0: they are printed only.",
                Type::kGauge,
                {{{{"recording", recording}}, acts_ ? 1.0 : 0.0}}};
  Family decisions{"heddle_steering_decisions_total",
                   "Decisions of a rule, by outcome: a line of the audit log each.",
                   Type::kCounter,
                   {}};
  Family limits{"heddle_steering_refused_by_limits_total",
                "Actions that the policy's limits did not allow.",
                Type::kCounter,
                {}};
  Family tests{"heddle_steering_tests_total",
               "Active tests before an action that have ended, by result.",
               Type::kCounter,
               {}};
  for (const auto& [name, rule] : rules_) {
    const std::vector<Label> labels = {
        {"recording", recording}, {"rule", name}, {"action", rule.action}};
    const auto add = [&labels](Family& to, std::vector<Label> more, uint64_t value) {
      more.insert(more.begin(), labels.begin(), labels.end());
      to.samples.push_back({std::move(more), static_cast<double>(value)});
    };
    for (const auto& [outcome, count] : rule.actions) {
      add(decisions, {{"undo", "no"}, {"outcome", name_of(outcome)}}, count);
    }
    for (const auto& [outcome, count] : rule.undone) {
      add(decisions, {{"undo", "yes"}, {"outcome", name_of(outcome)}}, count);
    }
    add(limits, {}, rule.refused_by_limits);
    add(tests, {{"result", "confirmed"}}, rule.confirmed);
    add(tests, {{"result", "not_confirmed"}}, rule.not_confirmed);
    add(tests, {{"result", "not_tested"}}, rule.not_tested);
  }
  return {acting, decisions, limits, tests};
}

}  // namespace heddle::steering
