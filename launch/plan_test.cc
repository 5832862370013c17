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
    const auto made = make_elastic(plan, min_ranks);
    ASSERT_FALSE(made) << min_ranks;
    EXPECT_THAT(made.error().message(), HasSubstr("the job has 4"));
    EXPECT_THAT(made.error().message(), HasSubstr("from 1 to 4"));
    EXPECT_FALSE(plan.min_ranks);
  }
  for (const uint32_t min_ranks : {1U, 2U, 4U}) {
    EXPECT_TRUE(make_elastic(plan, min_ranks)) << min_ranks;
    EXPECT_EQ(plan.min_ranks, min_ranks);
  }
}

}  // namespace
}  // namespace heddle::launch
