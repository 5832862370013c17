// Filters: the input for nftables, which is empty without faults.
#include "lab/filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/queues.h"
#include "topology/generators.h"

namespace heddle::lab {
namespace {

using testing::HasSubstr;
using testing::Not;

class FiltersTest : public testing::Test {
 protected:
  explicit FiltersTest(const topology::LinkShape& shape = {.rate = megabits_per_s(200)})
      : layout_(std::move(*make_layout("test", topology::point_to_point(shape)))),
        conditions_(initial_conditions(layout_.topology)) {}

  Layout layout_;
  Conditions conditions_;
};

TEST_F(FiltersTest, WithoutFaultsNothingIsFiltered) {
  EXPECT_EQ(place_filter(layout_, layout_.places[0], conditions_), "");
  EXPECT_EQ(place_filter(layout_, layout_.places[1], conditions_), "");
}

TEST_F(FiltersTest, LossHappensAtTheReceiver) {
  conditions_.links[0].forward.faults.loss_per_million = 10'000;
  EXPECT_EQ(place_filter(layout_, layout_.places[0], conditions_), "");
  const std::string filter = place_filter(layout_, layout_.places[1], conditions_);
  EXPECT_THAT(filter, HasSubstr("hook ingress device \"nic0\""));
  EXPECT_THAT(filter, HasSubstr("numgen random mod 1000000 < 10000 counter name \"lost_0\" drop"));
}

TEST_F(FiltersTest, MarksBeginBelowTheRateOfTheLink) {
  layout_.topology.links[0].shape.ecn_threshold = {30'000};
  const std::string filter = place_filter(layout_, layout_.places[1], conditions_);
  EXPECT_THAT(filter, HasSubstr("hook egress"));
  EXPECT_THAT(filter, HasSubstr("limit rate over 2634/second burst 3 packets jump mark_0"));
  conditions_.links[0].backward.rate = {};
  EXPECT_THAT(place_filter(layout_, layout_.places[1], conditions_), Not(HasSubstr("limit rate")));
}

TEST_F(FiltersTest, ReorderingAddsASecondQueue) {
  DirectionCondition fast = conditions_.links[0].forward;
  fast.faults.reorder_per_million = 20'000;
  const topology::LinkShape& shape = layout_.topology.links[0].shape;
  const std::string change = queue_change(layout_.a(0), shape, conditions_.links[0].forward, fast);
  EXPECT_THAT(change, HasSubstr("root handle 1: htb default 10"));
  EXPECT_THAT(change, HasSubstr("classid 1:20 htb rate 100000000bit ceil 200000000bit"));
  const std::string back = queue_change(layout_.a(0), shape, fast, conditions_.links[0].forward);
  EXPECT_THAT(back, HasSubstr("root tbf rate 200000000bit"));
}

TEST_F(FiltersTest, ADownLinkIsABlackHoleThatRoutesAvoidOnceNoticed) {
  topology::LinkChange change{.link = 0};
  apply(change, conditions_);
  EXPECT_TRUE(conditions_.links[0].backward.black_hole);
  EXPECT_TRUE(conditions_.up()[0]);
  change.kind = topology::LinkChangeKind::kNotice;
  apply(change, conditions_);
  EXPECT_FALSE(conditions_.up()[0]);
  change.kind = topology::LinkChangeKind::kUp;
  apply(change, conditions_);
  EXPECT_FALSE(conditions_.links[0].backward.black_hole);
  EXPECT_TRUE(conditions_.up()[0]);
}

}  // namespace
}  // namespace heddle::lab
