// Metrics of steering: decisions, what limits refused, and what tests confirmed.
#include "steering/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace heddle::steering {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Policy policy() {
  Policy made;
  made.rules.push_back(
      {.name = "drain", .action = {.kind = ActionKind::kSlurmDrain, .undo = true}});
  made.rules.push_back({.name = "page", .action = {.kind = ActionKind::kCommand}});
  return made;
}

Decision decision(Outcome outcome, const std::string& target = "h1") {
  Decision made;
  made.rule = "drain";
  made.action = "slurm_drain";
  made.target = target;
  made.outcome = outcome;
  return made;
}

std::string text_of(const Counts& counts) {
  const auto text = metrics::exposition_of(counts.families("job"));
  EXPECT_TRUE(text) << text.error().message();
  return text ? *text : "";
}

std::string tests_line(const std::string& result, int count) {
  return "heddle_steering_tests_total{action=\"slurm_drain\",recording=\"job\",result=\"" + result +
         "\",rule=\"drain\"} " + std::to_string(count) + "\n";
}

TEST(CountsTest, AllRulesAreThereFromTheBeginning) {
  const std::string text = text_of(Counts(policy(), true));
  EXPECT_THAT(text, HasSubstr("heddle_steering_acts{recording=\"job\"} 1\n"));
  for (const char* const outcome : {"done", "failed", "refused", "interrupted", "not_confirmed"}) {
    EXPECT_THAT(text, HasSubstr("action=\"command\",outcome=\"" + std::string(outcome) +
                                "\",recording=\"job\",rule=\"page\",undo=\"no\"} 0\n"));
  }
  EXPECT_THAT(text, HasSubstr("rule=\"drain\",undo=\"yes\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("rule=\"page\",undo=\"yes\"")));
}

TEST(CountsTest, OutcomesAreCountedByRule) {
  Counts counts(policy(), false);
  counts.add(decision(Outcome::kStarted));
  counts.add(decision(Outcome::kDone));
  counts.add(decision(Outcome::kDone));
  Decision limited = decision(Outcome::kRefused);
  limited.by_limit = true;
  counts.add(limited);
  counts.add(decision(Outcome::kRefused));
  const std::string text = text_of(counts);
  const std::string rest = "\",recording=\"job\",rule=\"drain\",undo=\"no\"} ";
  EXPECT_THAT(text, HasSubstr("outcome=\"done" + rest + "2\n"));
  EXPECT_THAT(text, HasSubstr("outcome=\"refused" + rest + "2\n"));
  EXPECT_THAT(text, HasSubstr("heddle_steering_refused_by_limits_total{action=\"slurm_drain\","
                              "recording=\"job\",rule=\"drain\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("heddle_steering_acts{recording=\"job\"} 0\n"));
}

TEST(CountsTest, ATestIsConfirmedByWhatFollows) {
  Counts counts(policy(), true);
  counts.add(decision(Outcome::kTesting, "h1"));
  counts.add(decision(Outcome::kNotConfirmed, "h2"));  // of no test
  counts.add(decision(Outcome::kStarted, "h1"));
  counts.add(decision(Outcome::kDone, "h1"));
  counts.add(decision(Outcome::kTesting, "h2"));
  counts.add(decision(Outcome::kNotConfirmed, "h2"));
  counts.add(decision(Outcome::kTesting, "h3"));
  counts.add(decision(Outcome::kNotTested, "h3"));
  const std::string text = text_of(counts);
  for (const char* const result : {"confirmed", "not_confirmed", "not_tested"}) {
    EXPECT_THAT(text, HasSubstr(tests_line(result, 1)));
  }
}

TEST(CountsTest, MetricsAreThoseOfTheReference) {
  std::ifstream file("docs/reference/metrics.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const metrics::Family& each : Counts(policy(), true).families("job")) {
    std::string labels;
    for (const metrics::Label& label : each.samples.front().labels) {
      labels += (labels.empty() ? "`" : ", `") + label.name + "`";
    }
    EXPECT_THAT(page, HasSubstr("| `" + each.name + "` | " + name_of(each.type) + " | " + labels +
                                " | " + each.help + " |\n"));
  }
}

}  // namespace
}  // namespace heddle::steering
