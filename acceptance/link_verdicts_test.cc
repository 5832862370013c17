// Link verdicts: which link is named for which load, and that a clean fabric has none.
#include "acceptance/link_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generators.h"
#include "topology/names.h"

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
                       rounds_of(static_cast<uint32_t>(fabric_.hosts.size()), true), label_of_);
  }

  topology::Topology fabric_ = topology::leaf_spine(kShape);
  std::vector<CarriedLoad> loads_;
  LinkLabel label_of_ = [this](uint32_t link) { return topology::link_label(fabric_, link); };
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

// The first of two was named, taken out of service, and the slow one stayed.
TEST_F(LinkVerdictsTest, OfParallelLinksTheSlowOneIsNamed) {
  const auto second = static_cast<uint32_t>(fabric_.links.size());
  fabric_.links.push_back(fabric_.links[uplink_]);
  loads_.push_back(loads_[uplink_]);
  loads_[second].forward.peak_bits_per_s = 12e6;
  loads_[second].backward.errors = 100;
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, ElementsAre(second));
  ASSERT_GE(verdicts.rows.size(), 2U);
  EXPECT_EQ(verdicts.rows[0].where, "leaf0 to spine1 #1");
  EXPECT_EQ(verdicts.rows[1].where, "spine1 to leaf0 #1");
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
  EXPECT_THAT(judge_links(fabric_, loads_, {}, both, label_of_).named, IsEmpty());
  EXPECT_EQ(judge_links(fabric_, loads_, {}, both, label_of_).judged_directions,
            4u + 8u);  // upwards, down
  loads_[0].forward.peak_bits_per_s = 30e6;
  EXPECT_THAT(judge_links(fabric_, loads_, {}, both, label_of_).named, ElementsAre(0u));
}

TEST_F(LinkVerdictsTest, ALinkThatCarriesLessThanItsPeersIsSlowWithoutDrops) {
  loads_[uplink_].forward = {.peak_bits_per_s = 12e6, .bytes = 100'000};
  EXPECT_THAT(judge().named, ElementsAre(uplink_));
}

// Of machines, where no port of a switch counts: a slow port was not named where the links between
// switches leave hosts half of their rate.
TEST_F(LinkVerdictsTest, ALinkBelowItsPeersIsSlowWhereNoneCanHaveItsRate) {
  const std::vector<std::vector<HostPair>> both = {{{0, 2}, {1, 3}}, {{2, 0}, {3, 1}}};
  for (CarriedLoad& load : loads_) load = {};
  for (const uint32_t host : {0u, 1u, 2u, 3u}) {
    loads_[host].forward.peak_bits_per_s = loads_[host].backward.peak_bits_per_s = 95e6;
  }
  EXPECT_THAT(judge_links(fabric_, loads_, {}, both, label_of_).named, IsEmpty());
  loads_[3].forward.peak_bits_per_s = 20e6;
  const LinkVerdicts verdicts = judge_links(fabric_, loads_, {}, both, label_of_);
  EXPECT_THAT(verdicts.named, ElementsAre(3u));
  EXPECT_EQ(verdicts.rows[0].where, "h3 to leaf1");
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

// They were counted among those that are fine.
TEST_F(LinkVerdictsTest, LinksThatNothingReadsAreNotJudgedAndTheRowSaysHowMany) {
  const auto judged = judge().judged_directions;
  for (uint32_t i = 0; i < loads_.size(); ++i) {
    if (i == uplink_ || i == uplink_ + 1) loads_[i] = CarriedLoad{.known = false};
  }
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, IsEmpty());
  EXPECT_EQ(verdicts.judged_directions, judged - 4);
  ASSERT_EQ(verdicts.rows.size(), 1u);
  EXPECT_EQ(verdicts.rows[0].where, "10 of 12 links");
  EXPECT_EQ(verdicts.rows[0].measured,
            "20 of 20 directions judged under load; nothing reads the counters of 2 more links");
}

// Of machines: switches' counters are not read, and nothing was seen to be dropped. Only the fast
// link was named.
class SwappedRatesTest : public testing::Test {
 protected:
  SwappedRatesTest() {
    for (const uint32_t host : {1u, 3u}) set_rate(host, megabits_per_s(120));
    for (uint32_t i = 0; i < fabric_.links.size(); ++i) {
      const bool of_host = i < fabric_.hosts.size();
      const double peak =
          of_host ? static_cast<double>(fabric_.links[i].shape.rate.count) * 0.97 : 0;
      loads_.emplace_back();
      set_peak(i, peak);
    }
  }

  void set_rate(uint32_t link, BitsPerSec rate) { fabric_.links[link].shape.rate = rate; }
  void set_peak(uint32_t link, double peak) {
    const LinkLoad load{.peak_bits_per_s = peak, .bytes = 1'000'000};
    loads_[link] = {load, load, 10'000, 10'000};
  }

  LinkVerdicts judge() const {
    const auto label_of = [this](uint32_t link) { return topology::link_label(fabric_, link); };
    return judge_links(fabric_, loads_, {}, rounds_of(4, true), label_of);
  }

  topology::Topology fabric_ = topology::leaf_spine({.leaves = 2,
                                                     .spines = 4,
                                                     .hosts_per_leaf = 2,
                                                     .host_link = {.rate = megabits_per_s(200)},
                                                     .spine_link = {.rate = megabits_per_s(200)}});
  std::vector<CarriedLoad> loads_;
};

TEST_F(SwappedRatesTest, HealthyLinksOfTwoRatesAreNotNamed) {
  EXPECT_THAT(judge().named, IsEmpty());
  EXPECT_EQ(judge().judged_directions, 8u);
}

TEST_F(SwappedRatesTest, BothLinksAreNamedInBothDirectionsAndNoOther) {
  set_peak(0, 117e6);
  set_peak(1, 195e6);
  const LinkVerdicts verdicts = judge();
  EXPECT_THAT(verdicts.named, ElementsAre(0u, 1u));
  ASSERT_EQ(verdicts.rows.size(), 5u);
  EXPECT_EQ(verdicts.rows[0].where, "h0 to leaf0");
  EXPECT_THAT(verdicts.rows[0].todo, HasSubstr("that of h1 - leaf0 are swapped"));
  EXPECT_THAT(verdicts.rows[2].todo, HasSubstr("that of h0 - leaf0 are swapped"));
}

TEST_F(SwappedRatesTest, TheLinkThatIsFasterInOneDirectionIsNotTheSlowOne) {
  set_peak(0, 117e6);
  loads_[0].backward.peak_bits_per_s = 195e6;
  set_peak(1, 195e6);
  EXPECT_THAT(judge().named, ElementsAre(1u));
}

TEST_F(SwappedRatesTest, AFastLinkAloneIsNamedAlone) {
  set_peak(1, 195e6);
  EXPECT_THAT(judge().named, ElementsAre(1u));
  EXPECT_THAT(judge().rows[0].todo, HasSubstr("another link may have this one's"));
}

TEST_F(SwappedRatesTest, NoneOfTwoThatMayHaveItsRateIsNamed) {
  set_peak(0, 117e6);
  set_peak(1, 195e6);
  set_peak(2, 118e6);
  EXPECT_THAT(judge().named, ElementsAre(1u));
  set_peak(3, 194e6);
  EXPECT_THAT(judge().named, ElementsAre(0u, 1u, 2u, 3u)) << "two are swapped with two";
  EXPECT_THAT(judge().rows[0].todo, HasSubstr("h1 - leaf0 or h3 - leaf1"));
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
