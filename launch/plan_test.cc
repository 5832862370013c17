// Plan of a run: who goes where.
#include "launch/plan.h"

#include <gmock/gmock.h>

namespace heddle::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RunPlanTest, RanksFillTheHostsEvenly) {
  const std::vector<RankPlace> places = place_ranks(5, {"h0", "h1"});
  std::vector<std::string> hosts;
  std::vector<uint32_t> local_ranks;
  std::vector<uint32_t> local_sizes;
  for (const RankPlace& place : places) {
    hosts.push_back(place.host);
    local_ranks.push_back(place.local_rank);
    local_sizes.push_back(place.local_size);
  }
  EXPECT_THAT(hosts, ElementsAre("h0", "h0", "h0", "h1", "h1"));
  EXPECT_THAT(local_ranks, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(local_sizes, ElementsAre(3, 3, 3, 2, 2));
}

TEST(RunPlanTest, FewerRanksThanHostsLeaveTheLastFree) {
  EXPECT_EQ(place_ranks(1, {"h0", "h1"}).size(), 1U);
  EXPECT_EQ(place_ranks(1, {"h0", "h1"})[0].local_size, 1U);
}

TEST(RunPlanTest, HostsAreChosenByName) {
  const std::vector<std::string> known = {"h0", "h1", "h2"};
  EXPECT_THAT(*choose_hosts("", known), ElementsAre("h0", "h1", "h2"));
  EXPECT_THAT(*choose_hosts("h2,h0", known), ElementsAre("h2", "h0"));
  for (const char* list : {"h3", "h0,", ",", "h0,,h1", "h0 h1"}) {
    const auto hosts = choose_hosts(list, known);
    ASSERT_FALSE(hosts) << list;
    EXPECT_THAT(hosts.error().todo, HasSubstr("h0, h1, h2"));
  }
}

TEST(RunPlanTest, AnElasticRunNeedsOneRankAtLeastAndAllAtMost) {
  RunPlan plan{.places = place_ranks(4, {""})};
  for (const uint32_t min_ranks : {0U, 5U, UINT32_MAX}) {
    const auto made = make_elastic(plan, {min_ranks, std::nullopt});
    ASSERT_FALSE(made) << min_ranks;
    EXPECT_THAT(made.error().message(), HasSubstr("the job has 4"));
    EXPECT_THAT(made.error().message(), HasSubstr("from 1 to 4"));
    EXPECT_FALSE(plan.elastic);
  }
  for (const uint32_t min_ranks : {1U, 2U, 4U}) {
    EXPECT_TRUE(make_elastic(plan, {min_ranks, std::nullopt})) << min_ranks;
    EXPECT_EQ(plan.elastic->min_ranks, min_ranks);
  }
}

TEST(RunPlanTest, AnElasticRunDoesNotStartWithMoreRanksThanItsMaximum) {
  RunPlan plan{.places = place_ranks(4, {""})};
  const auto made = make_elastic(plan, {2, 3});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("--elastic 2:4"));
  EXPECT_TRUE(make_elastic(plan, {2, 4}));
}

TEST(RunPlanTest, RangesOfRanksAreReadAndWritten) {
  EXPECT_EQ(*parse_elastic("2"), (Elastic{2, std::nullopt}));
  EXPECT_EQ(*parse_elastic("2:6"), (Elastic{2, 6}));
  EXPECT_EQ(*parse_elastic("4096:4096"), (Elastic{4096, 4096}));
  for (const char* text : {"2", "2:6", "1:1"}) {
    EXPECT_EQ(elastic_text(*parse_elastic(text)), text);
  }
  for (const char* text : {"", ":", "2:", ":6", "0", "0:2", "6:2", "2:4097", "2:6:8", "+2", "-1",
                           " 2", "2 ", "2-6", "two", "99999999999", "2:99999999999"}) {
    const auto read = parse_elastic(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message(), HasSubstr("MIN:MAX"));
  }
}

TEST(RunPlanTest, OneMoreRankGoesToTheHostWithTheFewest) {
  const RunPlan plan{.places = place_ranks(3, {"h0", "h1"}), .hosts = {"h0", "h1"}};
  std::vector<RankPlace> taken = plan.places;
  const RankPlace more = next_place(plan, taken);
  EXPECT_EQ(more.host, "h1");
  EXPECT_EQ(more.local_rank, 1U);
  EXPECT_EQ(more.local_size, 2U);
  taken.erase(taken.begin());  // local rank 0 of h0
  EXPECT_EQ(next_place(plan, taken).host, "h0");
  EXPECT_EQ(next_place(plan, taken).local_rank, 0U);
  EXPECT_EQ(next_place(plan, {}).host, "h0");
  const RunPlan wide{.places = place_ranks(1, {"h0"}), .hosts = {"h0", "h1"}};
  EXPECT_EQ(next_place(wide, wide.places).host, "h1") << "it had no rank";
  EXPECT_EQ(next_place(RunPlan{.places = place_ranks(2, {""})}, {}).host, "");
}

}  // namespace
}  // namespace heddle::launch
