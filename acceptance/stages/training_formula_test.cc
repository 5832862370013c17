// What the formula says of a step, and the row of what was hidden beside it.
#include "acceptance/stages/training_formula.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

Grade exact(double reached, double least) { return reached >= least ? Grade::kOk : Grade::kFail; }

TEST(TrainingFormula, TheHiddenShareIsAllThatIsNotExposed) {
  EXPECT_DOUBLE_EQ((IdealStep{1.2, 0.1, 0.5}.hidden_share()), 0.8);
  EXPECT_DOUBLE_EQ((IdealStep{1.2, 0.6, 0.5}.hidden_share()), 0);
  EXPECT_DOUBLE_EQ(IdealStep().hidden_share(), 0) << "no rate is known";
}

TEST(TrainingFormula, ASlowerStepHidesAsMuchOfMore) {
  const IdealStep ideal{1.8, 0.2, 0.8};
  EXPECT_NEAR(ideal.hidden_share_at(1), ideal.hidden_share(), 1e-9);
  EXPECT_NEAR(ideal.hidden_share_at(0.6), 0.6 / (0.6 + 1.4), 1e-9) << "3 s, of which 1.6 compute";
  EXPECT_DOUBLE_EQ(IdealStep().hidden_share_at(0.6), 0) << "no rate is known";
}

// The share had no expectation, although the formula has one.
TEST(TrainingFormula, WhatIsHiddenIsJudgedByTheFormula) {
  Row row = hidden_row("training", {0.75, 0.8, 0.48}, exact);
  EXPECT_EQ(row.measured, "75% of the communication ran beside computation");
  EXPECT_EQ(row.expected, "at least 48%; the formula says 80%");
  EXPECT_EQ(row.grade, Grade::kOk);
  EXPECT_EQ(row.todo, "");
  row = hidden_row("training", {0.4, 0.8, 0.48}, exact);
  EXPECT_EQ(row.grade, Grade::kFail);
  EXPECT_EQ(row.todo, kStepTodo);
  EXPECT_TRUE(is_information(hidden_row("ResNet-18", {0.3, 0, 0}, exact)));
}

}  // namespace
}  // namespace heddle::acceptance
