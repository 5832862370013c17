// Rows of ResNet-18: training that gains nothing, or hides next to nothing, is no plain pass.
#include "acceptance/stages/torch_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;

Grade exact(double reached, double least) { return reached >= least ? Grade::kOk : Grade::kFail; }

// As saved in docs/performance/acceptance_training.json: two cores over shaped links.
TEST(TorchRows, TwoHostsThatAreSlowerThanOneAreAWarning) {
  const Row row = speedup_row("2 hosts", {2, 164.9, 322.5});
  EXPECT_EQ(row.grade, Grade::kWarn);
  EXPECT_EQ(row.measured,
            "164.9 images/s on processors, 50,000 in 5.1 min beside 2.6 min on one host: 96% more "
            "time, 0.51 times one host with the same images, 26% efficiency");
  EXPECT_THAT(row.todo, HasSubstr("more images a step"));
}

TEST(TorchRows, TheTimeSavedIsThatOfAllHostsBesideOne) {
  const Row row = speedup_row("2 hosts", {2, 180, 100});
  EXPECT_EQ(row.grade, Grade::kOk);
  EXPECT_THAT(row.measured, HasSubstr("in 4.6 min beside 8.3 min on one host: 44% of the time "
                                      "saved, 1.80 times"));
  EXPECT_FALSE(row.expected.empty());
  EXPECT_TRUE(row.todo.empty());
}

TEST(TorchRows, AStepThatHidesNextToNothingIsAWarning) {
  const Row row = overlap_row("2 hosts", {0.914, 2.220, 2.997}, exact);
  EXPECT_EQ(row.grade, Grade::kWarn);
  EXPECT_THAT(row.measured, HasSubstr("of which 6% is hidden"));
  EXPECT_FALSE(row.todo.empty());
  EXPECT_EQ(overlap_row("2 hosts", {0.914, 2.220, 2.6}, exact).grade, Grade::kOk);
}

TEST(TorchRows, AStepThatTakesLongerThanBothOneAfterTheOtherFails) {
  EXPECT_EQ(overlap_row("2 hosts", {1, 1, 2.3}, exact).grade, Grade::kFail);
  EXPECT_EQ(overlap_row("2 hosts", {1, 1, 2.1}, exact).grade, Grade::kWarn);
}

// Where communication is far longer there is little to hide it behind.
TEST(TorchRows, OnlyWhatCanBeHiddenIsExpected) {
  EXPECT_EQ(overlap_row("2 hosts", {0.1, 10, 10.05}, exact).grade, Grade::kOk);
}

}  // namespace
}  // namespace heddle::acceptance
