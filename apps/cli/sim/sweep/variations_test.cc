// Values and ranges, all combinations, and shares that hold every run once.
#include "apps/cli/sim/sweep/variations.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace heddle::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(VariationsTest, ValuesAndRangesAreRead) {
  const auto paths = parse_variation("paths=1,16,128");
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->name, "paths");
  EXPECT_THAT(paths->values, ElementsAre("1", "16", "128"));
  EXPECT_THAT(parse_variation("--seed=3..6")->values, ElementsAre("3", "4", "5", "6"));
  EXPECT_THAT(parse_variation("seed=9,1..2")->values, ElementsAre("9", "1", "2"));
  EXPECT_THAT(parse_variation("workload=../a.toml")->values, ElementsAre("../a.toml"));
}

TEST(VariationsTest, MalformedVariationsAreRefused) {
  for (const char* text : {"", "paths", "=1", "paths=", "paths=1,,2", "paths=1,", "seed=5..2",
                           "seed=1..200000", "paths=1,2,1", "seed=1..4,3"}) {
    const auto parsed = parse_variation(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().what, HasSubstr("cannot read --vary"));
  }
}

TEST(VariationsTest, AllCombinationsInOrder) {
  const auto choices = combinations({{"cc", {"cubic", "swift"}}, {"seed", {"1", "2"}}});
  ASSERT_TRUE(choices);
  ASSERT_EQ(choices->size(), 4u);
  EXPECT_THAT((*choices)[0], ElementsAre(Pair("cc", "cubic"), Pair("seed", "1")));
  EXPECT_THAT((*choices)[1], ElementsAre(Pair("cc", "cubic"), Pair("seed", "2")));
  EXPECT_THAT((*choices)[3], ElementsAre(Pair("cc", "swift"), Pair("seed", "2")));
  EXPECT_EQ(combinations({})->size(), 1u) << "a run as it is";
}

TEST(VariationsTest, TooManyAndTwiceAreRefused) {
  Variation many{"seed", {}};
  for (size_t i = 0; i < 1'000; ++i) many.values.push_back(std::to_string(i));
  Variation other = many;
  other.name = "paths";
  EXPECT_FALSE(combinations({many, other}));
  EXPECT_FALSE(combinations({many, many}));
}

TEST(VariationsTest, SharesAreReadAndToldByLaunchers) {
  std::map<std::string, std::string> variables;
  const auto variable = [&](const char* name) { return variables[name]; };
  EXPECT_EQ(parse_share("2/8", variable)->index, 1u);
  EXPECT_EQ(parse_share("2/8", variable)->count, 8u);
  for (const char* text : {"0/8", "9/8", "1", "a/b", "1/", "/2", "-1/2", ""}) {
    EXPECT_FALSE(parse_share(text, variable)) << text;
  }
  EXPECT_FALSE(parse_share("auto", variable));
  variables = {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}};
  EXPECT_EQ(parse_share("auto", variable)->index, 2u);
  variables = {{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "5"}};
  EXPECT_EQ(parse_share("auto", variable)->count, 5u);
  variables["SLURM_ARRAY_TASK_ID"] = "7";
  EXPECT_FALSE(parse_share("auto", variable)) << "of how many is not said";
  variables["SLURM_ARRAY_TASK_MIN"] = "3";
  variables["SLURM_ARRAY_TASK_COUNT"] = "4";
  variables["SLURM_ARRAY_TASK_STEP"] = "2";
  EXPECT_EQ(parse_share("auto", variable)->index, 2u);
  EXPECT_EQ(parse_share("auto", variable)->count, 4u);
  variables["SLURM_ARRAY_TASK_ID"] = "6";
  EXPECT_FALSE(parse_share("auto", variable)) << "it is none of 3, 5, 7 and 9";
}

TEST(VariationsTest, NumbersAreSortedByWhatTheyAreWorth) {
  std::vector<std::string> values = {"swift", "128", "16", "1", "cubic", "1.5"};
  std::sort(values.begin(), values.end(), natural_less);
  EXPECT_THAT(values, ElementsAre("1", "1.5", "16", "128", "cubic", "swift"));
}

}  // namespace
}  // namespace heddle::cli
