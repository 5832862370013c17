// What rises bit by bit, and what jumps.
#include "insight/diagnosis/robust.h"

#include <gtest/gtest.h>

#include <vector>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

constexpr size_t kValues = 64;

std::vector<double> ramp(double from, double to) {
  std::vector<double> values;
  for (size_t i = 0; i < kValues; ++i) {
    values.push_back(from + (to - from) * static_cast<double>(i) / (kValues - 1));
  }
  return values;
}

TEST(RisesGradually, ARampDoesThoughSomeValuesAreFarFromIt) {
  std::vector<double> values = ramp(0.05, 0.5);
  EXPECT_TRUE(rises_gradually(values));
  for (size_t i = 3; i < kValues; i += 8) values[i] = 3;
  EXPECT_TRUE(rises_gradually(values));
}

TEST(RisesGradually, AStepDoesNot) {
  std::vector<double> values(kValues, 0.05);
  for (size_t i = kValues / 2; i < kValues; ++i) values[i] = 0.5;
  EXPECT_FALSE(rises_gradually(values));
  // Nor one after which it rises a little.
  for (size_t i = 0; i < kValues; ++i) values[i] += 0.002 * static_cast<double>(i);
  EXPECT_FALSE(rises_gradually(values));
}

TEST(RisesGradually, ALevelThatRisesByLessThanItsShareDoesNot) {
  EXPECT_FALSE(rises_gradually(std::vector<double>(kValues, 0.5)));
  EXPECT_FALSE(rises_gradually(ramp(0.3, 0.5)));
  EXPECT_FALSE(rises_gradually(ramp(0.5, 0.05)));
}

// It is above its threshold after more than half of the way up, and rises by less than half of its
// highest level from there on.
TEST(RisesGradually, AnEpisodeDoesThatBeganToRiseBeforeItWasOne) {
  std::vector<double> values = ramp(0, 0.1);
  const Episode episode = {kValues / 2 + 4, kValues};
  EXPECT_FALSE(rises_gradually(values_in(values, episode)));
  EXPECT_TRUE(rises_gradually(values, episode));
  EXPECT_TRUE(rises_gradually(values, {0, kValues})) << "there is nothing before it";
  for (size_t i = 0; i < episode.begin; ++i) values[i] = 0;
  for (size_t i = episode.begin; i < kValues; ++i) values[i] = 0.1;
  EXPECT_FALSE(rises_gradually(values, episode)) << "a step";
}

TEST(RisesGradually, TooFewValuesDoNot) {
  EXPECT_FALSE(rises_gradually({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}));
}

}  // namespace
}  // namespace heddle::insight
