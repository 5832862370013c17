// Outliers among rows whose noise is known: jumps between two levels, delays of some blocks only.
#include "insight/diagnosis/outliers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

constexpr size_t kRows = 12;
constexpr size_t kSlow = 5;
constexpr size_t kOnset = 40;
constexpr int64_t kBlockNs = 500'000'000;
constexpr OutlierRule kRule = {.threshold = 0.1, .least_ns = 2'000'000'000};

class OutliersTest : public ::testing::Test {
 protected:
  OutliersTest() : values_(kRows, std::vector<double>(params::kBlocks)) {
    for (size_t i = 0; i < params::kBlocks; ++i) {
      const auto begin = static_cast<int64_t>(i) * kBlockNs;
      blocks_.push_back({.begin = begin, .end = begin + kBlockNs, .operations = 10});
    }
  }

  double uniform() { return static_cast<double>(random_.below(1'000'000)) * 1e-6; }
  // Each block is at `level` with this chance, else at 0, whatever the others are.
  void jump(size_t row, size_t begin, double chance, double level) {
    for (size_t i = begin; i < params::kBlocks; ++i) {
      values_[row][i] = uniform() < chance ? level : 0;
    }
  }
  // Of a deviation of 1, about: a sum of uniform draws.
  double noise() {
    double sum = -6;
    for (int draw = 0; draw < 12; ++draw) sum += uniform();
    return sum;
  }

  std::vector<std::vector<double>> values_;
  std::vector<Block> blocks_;
  Random random_{7};
};

// As where ranks share cores: the medians of all that are high in more than half of the blocks are
// as high as a slow rank's.
TEST_F(OutliersTest, ARowThatIsHighMoreOftenThanOthersThatJumpIsNone) {
  for (size_t row = 0; row < kRows; ++row) jump(row, 0, 0.4, 0.3);
  jump(kSlow, kOnset, 0.8, 0.3);
  EXPECT_TRUE(find_outliers(values_, blocks_, kRule).empty());
}

TEST_F(OutliersTest, ARowThatIsHighAllTheTimeIsOneThoughOthersJump) {
  for (size_t row = 0; row < kRows; ++row) jump(row, 0, 0.4, 0.3);
  for (size_t i = kOnset; i < params::kBlocks; ++i) values_[kSlow][i] += 0.4;
  const std::vector<Outlier> found = find_outliers(values_, blocks_, kRule);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].candidate, kSlow);
  EXPECT_TRUE(found[0].lasts);
}

// A mean of 60 blocks is known to an eighth of their deviation, a median to a sixth only.
TEST_F(OutliersTest, ALevelBelowTheNoiseOfOneBlockIsFound) {
  for (std::vector<double>& row : values_) {
    for (double& value : row) value = 0.15 * noise();
  }
  for (size_t i = kOnset; i < params::kBlocks; ++i) values_[kSlow][i] += 0.17;
  const std::vector<Outlier> found = find_outliers(values_, blocks_, kRule);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].candidate, kSlow);
}

TEST_F(OutliersTest, ALevelThatIsLessSureIsFoundWhereFewerErrorsAreAskedFor) {
  for (std::vector<double>& row : values_) {
    for (double& value : row) value = 0.15 * noise();
  }
  for (size_t i = kOnset; i < params::kBlocks; ++i) values_[kSlow][i] += 0.12;
  EXPECT_TRUE(find_outliers(values_, blocks_, kRule).empty());
  OutlierRule rule = kRule;
  rule.least_errors = 4;
  const std::vector<Outlier> found = find_outliers(values_, blocks_, rule);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].candidate, kSlow);
  EXPECT_LT(found[0].errors, params::kLeastErrors);
}

// Losses are repaired in some of the blocks.
TEST_F(OutliersTest, SurelyHighInHalfOfTheBlocksIsEnoughOnlyWhereItMayBeSporadic) {
  for (size_t i = kOnset; i < params::kBlocks; ++i) values_[kSlow][i] = i % 5 < 3 ? 0.3 : 0;
  EXPECT_TRUE(find_outliers(values_, blocks_, kRule).empty());
  OutlierRule rule = kRule;
  rule.sporadic = true;
  const std::vector<Outlier> found = find_outliers(values_, blocks_, rule);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].candidate, kSlow);
}

TEST_F(OutliersTest, AnEpisodeIsNotShorterThanTheRuleSays) {
  for (size_t i = kOnset; i < kOnset + 8; ++i) values_[kSlow][i] = 0.3;
  OutlierRule rule = kRule;
  rule.least_ns = 8 * kBlockNs;
  EXPECT_EQ(find_outliers(values_, blocks_, rule).size(), 1u);
  ++rule.least_ns;
  EXPECT_TRUE(find_outliers(values_, blocks_, rule).empty());
}

// What rows of one episode have in common is computed once, and is none of another episode's.
TEST_F(OutliersTest, RowsWithTwoEpisodesAreTheSameInTheOtherOrder) {
  for (std::vector<double>& row : values_) {
    for (double& value : row) value = 0.01 * noise();
  }
  for (const size_t row : {3u, 8u}) {
    for (size_t i = kOnset; i < params::kBlocks; ++i) values_[row][i] += 0.4;
  }
  for (size_t i = kOnset + 30; i < params::kBlocks; ++i) values_[kSlow][i] += 0.6;
  const std::vector<Outlier> found = find_outliers(values_, blocks_, kRule);
  ASSERT_EQ(found.size(), 3u);
  std::reverse(values_.begin(), values_.end());
  const std::vector<Outlier> reversed = find_outliers(values_, blocks_, kRule);
  ASSERT_EQ(reversed.size(), 3u);
  for (size_t i = 0; i < found.size(); ++i) {
    const Outlier& same = reversed[found.size() - 1 - i];
    EXPECT_EQ(same.candidate, kRows - 1 - found[i].candidate);
    EXPECT_EQ(same.episode.begin, found[i].episode.begin);
    EXPECT_EQ(same.level, found[i].level);
    EXPECT_EQ(same.others, found[i].others);
    EXPECT_NEAR(same.errors, found[i].errors, 1e-6 * found[i].errors);
  }
  EXPECT_NE(found[0].others, found[1].others) << "they are of two episodes";
}

}  // namespace
}  // namespace heddle::insight
