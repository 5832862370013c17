// Link verdicts: which link is named for which load, and that a clean fabric has none.
#include "acceptance/link_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr topology::LeafSpineShape kShape = {
    .leaves = 2,
    .spines = 4,
    .hosts_per_leaf = 2,
    .host_link = {.rate = megabits_per_s(200), .mtu_bytes = 1500},
    .spine_link = {.rate = megabits_per_s(50), .mtu_bytes = 1500}};

class LinkVerdictsTest : public testing::Test {
 protected:
  LinkVerdictsTest() {
    for (const topology::Link& link : fabric_.links) {
      const LinkLoad full{.peak_bits_per_s = static_cast<double>(link.shape.rate.count) * 0.97,
                          .bytes = 1'000'000,
                          .dropped = 20};
      loads_.push_back({full, full, 10'000, 10'000});
    }
  }

  LinkVerdicts judge() const {
    return judge_links(fabric_, loads_, {},
                       rounds_of(static_cast<uint32_t>(fabric_.hosts.size()), true));
  }

  topology::Topology fabric_ = topology::leaf_spine(kShape);
  std::vector<CarriedLoad> loads_;
  uint32_t uplink_ = topology::leaf_spine_link(kShape, 0, 1);
};

TEST_F(LinkVerdictsTest, ACleanFabricHasOneRowWithoutAName) {
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, IsEmpty());
  ASSERT_EQ(verdicts.rows.size(), 1u);
  EXPECT_EQ(verdicts.rows[0].grade, Grade::kOk);
  EXPECT_EQ(verdicts.judged_directions, 2 * fabric_.links.size());
}

TEST_F(LinkVerdictsTest, ASlowLinkIsNamedWithItsDirection) {
  loads_[uplink_].backward.peak_bits_per_s = 12e6;
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, ElementsAre(uplink_));
  EXPECT_EQ(verdicts.rows[0].where, "spine1 to leaf0");
  EXPECT_EQ(verdicts.rows[0].grade, Grade::kFail);
  EXPECT_FALSE(verdicts.rows[0].todo.empty());
}

TEST_F(LinkVerdictsTest, AnIdleLinkIsNotSlowIfItsPeersAreIdleToo) {
  for (CarriedLoad& load : loads_) {
    load.forward.peak_bits_per_s = 1e6;
    load.forward.dropped = 0;
  }
  EXPECT_THAT(judge().named, IsEmpty());
  EXPECT_EQ(judge().judged_directions, fabric_.links.size());
}

// Clean fabrics failed: a burst filled the queue of a host's link, and two slower spines behind it
// let no more through.
TEST_F(LinkVerdictsTest, ALinkThatCanGetNoMoreIsNotSlowThoughItsQueueWasFull) {
  const std::vector<std::vector<HostPair>> both = {{{0, 2}, {1, 3}}};  // share 200 Mbit/s upwards
  for (const uint32_t host : {0u, 1u}) loads_[host].forward.peak_bits_per_s = 70e6;
  EXPECT_THAT(judge_links(fabric_, loads_, {}, both).named, IsEmpty());
  EXPECT_EQ(judge_links(fabric_, loads_, {}, both).judged_directions, 4u + 8u);  // upwards, down
  loads_[0].forward.peak_bits_per_s = 30e6;
  EXPECT_THAT(judge_links(fabric_, loads_, {}, both).named, ElementsAre(0u));
}

TEST_F(LinkVerdictsTest, ALinkThatCarriesLessThanItsPeersIsSlowWithoutDrops) {
  loads_[uplink_].forward = {.peak_bits_per_s = 12e6, .bytes = 100'000};
  EXPECT_THAT(judge().named, ElementsAre(uplink_));
}

TEST_F(LinkVerdictsTest, LinksThatASlowOneFeedsAreNotNamed) {
  loads_[uplink_].forward.peak_bits_per_s = 12e6;
  const uint32_t fed = topology::leaf_spine_link(kShape, 1, 1);
  loads_[fed].backward = {.peak_bits_per_s = 12e6, .bytes = 100'000};
  EXPECT_THAT(judge().named, ElementsAre(uplink_));
}

// Seen: leaf1 to spine1 with 12.0 Mb/s and 20 drops before spine1 to leaf0 with 10.8 and 91.
TEST_F(LinkVerdictsTest, ALinkThatDropsALittleBeforeASlowOneIsNotNamed) {
  LinkLoad& slow = loads_[uplink_].backward;
  slow.peak_bits_per_s = 10.8e6;
  slow.dropped = 91;
  const uint32_t before = topology::leaf_spine_link(kShape, 1, 1);
  loads_[before].forward.peak_bits_per_s = 12.0e6;
  EXPECT_THAT(judge().named, ElementsAre(uplink_));
  loads_[before].forward.dropped = 60;
  EXPECT_THAT(judge().named, ElementsAre(uplink_, before)) << "both are slow";
}

TEST_F(LinkVerdictsTest, ALinkAboveItsRateIsNamed) {
  loads_[0].forward.peak_bits_per_s = 390e6;
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, ElementsAre(0u));
  EXPECT_THAT(verdicts.rows[0].todo, HasSubstr("another rate"));
}

TEST_F(LinkVerdictsTest, ErrorsAreNamedAboveTheirLimit) {
  loads_[uplink_].forward.errors = 1;  // of 10,000: at the limit
  EXPECT_THAT(judge().named, IsEmpty());
  loads_[uplink_].forward.errors = 100;
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, ElementsAre(uplink_));
  EXPECT_EQ(verdicts.rows[0].check, "link errors");
  EXPECT_EQ(verdicts.rows[0].where, "leaf0 to spine1");
}

TEST_F(LinkVerdictsTest, TooFewPacketsAreNotJudged) {
  loads_[uplink_].forward.errors = 5;
  loads_[uplink_].forward_packets = 20;
  EXPECT_THAT(judge().named, IsEmpty());
}

}  // namespace
}  // namespace heddle::acceptance
