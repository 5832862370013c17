// CountsWatch: all that was counted until the last reading, once, whichever stages ran.
#include "acceptance/counts_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::acceptance {
namespace {

// One host, whose errors grow by one with each reading.
CountsWatch::Reader growing() {
  return [errors = uint64_t{7}]() mutable -> std::optional<std::vector<PlaceCounts>> {
    const NicCounts nic{.device = "eth0", .counts = {{"rx_errors", errors++}}};
    return std::vector<PlaceCounts>{{.place = "h0", .nics = {nic}, .tested = ""}};
  };
}

Report report_of_stages(StageOutcome first) {
  Report report;
  report.stages = {{.name = "pairs", .outcome = first}, {.name = "stress"}};
  return report;
}

std::string errors_in(const Report& report) {
  const auto& rows = report.stages.front().rows;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const Row& each) { return each.check == "NIC errors"; });
  return row == rows.end() ? "no row" : row->measured;
}

TEST(CountsWatch, CountsToTheLastReadingAlsoAfterTheStageRest) {
  const CountsWatch watch(growing(), nullptr);
  Report report = report_of_stages(StageOutcome::kFailed);
  watch.conclude(report);
  EXPECT_EQ(errors_in(report), "eth0: rx_errors 1");
  watch.conclude(report);  // the stage rest has run
  EXPECT_EQ(errors_in(report), "eth0: rx_errors 2");
}

TEST(CountsWatch, AnInterruptedTestHasWhatWasCountedUntilThenAndTheNextOneAddsIt) {
  const CountsWatch watch(growing(), nullptr);
  Report first = report_of_stages(StageOutcome::kInterrupted);
  watch.conclude(first);
  EXPECT_EQ(errors_in(first), "eth0: rx_errors 1");
  const CountsWatch next(growing(), &first);
  Report second = report_of_stages(StageOutcome::kPassed);
  next.conclude(second);
  next.conclude(second);
  EXPECT_EQ(errors_in(second), "eth0: rx_errors 3");
}

TEST(CountsWatch, ErrorsDuringAFailedTestAreNotAddedToTheNextOne) {
  const CountsWatch watch(growing(), nullptr);
  Report first = report_of_stages(StageOutcome::kFailed);
  watch.conclude(first);
  const CountsWatch next(growing(), &first);
  Report second = report_of_stages(StageOutcome::kPassed);
  next.conclude(second);
  EXPECT_EQ(errors_in(second), "eth0: rx_errors 1");
}

TEST(CountsWatch, WithoutCountersThereAreNoRows) {
  const CountsWatch watch([] { return std::nullopt; }, nullptr);
  Report report = report_of_stages(StageOutcome::kPassed);
  watch.conclude(report);
  EXPECT_EQ(errors_in(report), "no row");
}

}  // namespace
}  // namespace heddle::acceptance
