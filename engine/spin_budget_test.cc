// Spinning continues while work arrives soon, stops when it does not, and resumes.
#include "engine/spin_budget.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(SpinBudget, StopsAfterEightLongWaitsAndResumes) {
  SpinBudget budget(micros(200));
  EXPECT_EQ(budget.budget(), micros(200));
  for (int i = 0; i < 7; ++i) budget.on_idle_ended(millis(1));
  EXPECT_EQ(budget.budget(), micros(200));
  budget.on_idle_ended(millis(1));
  EXPECT_EQ(budget.budget(), Nanos{});
  budget.on_idle_ended(micros(200));
  EXPECT_EQ(budget.budget(), micros(200));
}

TEST(SpinBudget, OneShortWaitInEightKeepsIt) {
  SpinBudget budget(micros(200));
  for (int i = 0; i < 100; ++i) {
    budget.on_idle_ended(i % 8 == 0 ? micros(30) : millis(5));
    EXPECT_EQ(budget.budget(), micros(200));
  }
}

}  // namespace
}  // namespace heddle::engine
