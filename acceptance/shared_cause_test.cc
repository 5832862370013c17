// Shared cause: which host or link is behind what several pairs see.
#include "acceptance/shared_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<HostPair> all_pairs(uint32_t hosts) {
  std::vector<HostPair> pairs;
  for (const auto& round : rounds_of(hosts, true))
    pairs.insert(pairs.end(), round.begin(), round.end());
  return pairs;
}

TEST(SharedCause, AHostInEveryBadPairIsNamed) {
  EXPECT_EQ(host_behind({{0, 2}, {2, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}}, all_pairs(4)), 2u);
}

TEST(SharedCause, OnePairIsNoHost) {
  EXPECT_FALSE(host_behind({{0, 2}}, all_pairs(4)));
  EXPECT_FALSE(host_behind({}, all_pairs(4)));
  EXPECT_FALSE(host_behind({{0, 1}, {1, 0}}, all_pairs(2)));  // either
}

TEST(SharedCause, AHostThatAllPairsToItMissIsNamed) {
  EXPECT_EQ(host_not_reached({{0, 2}, {1, 2}, {3, 2}}, all_pairs(4)), 2u);
  EXPECT_FALSE(host_not_reached({{0, 2}, {1, 2}}, all_pairs(4)));  // h3 reaches it
  EXPECT_FALSE(host_not_reached({{0, 2}, {1, 2}, {3, 2}, {2, 0}}, all_pairs(4)));
  EXPECT_FALSE(host_not_reached({{2, 0}, {2, 1}, {2, 3}}, all_pairs(4)));
  EXPECT_FALSE(host_not_reached({{0, 1}}, all_pairs(2)));
  EXPECT_FALSE(host_not_reached({}, all_pairs(4)));
}

// Switches 0 and 1 are the leaves, 2 to 5 the spines; h0 is on leaf0, h2 on leaf1.
class LostRoute : public testing::Test {
 protected:
  topology::LeafSpineShape shape_{.leaves = 2, .spines = 4, .hosts_per_leaf = 2};
  topology::Topology fabric_ = topology::leaf_spine(shape_);
};

TEST_F(LostRoute, TheLinkThatNoWorkingRouteTakes) {
  const std::vector<SeenRoute> routes = {
      {{0, 2, 1}}, {{0, 3, 1}}, {{0, 5, 1}}, {{0, std::nullopt}, false}};
  EXPECT_THAT(links_behind(fabric_, {0, 2}, routes),
              ElementsAre(LinkUse{topology::leaf_spine_link(shape_, 0, 2), true}));
}

TEST_F(LostRoute, BehindTheSpineWhereThatAnswers) {
  const std::vector<SeenRoute> routes = {
      {{0, 2, 1}}, {{0, 3, 1}}, {{0, 5, 1}}, {{0, 4, std::nullopt}, false}};
  EXPECT_THAT(links_behind(fabric_, {0, 2}, routes),
              ElementsAre(LinkUse{topology::leaf_spine_link(shape_, 1, 2), false}));
}

TEST_F(LostRoute, WithoutALostRouteNothing) {
  EXPECT_THAT(links_behind(fabric_, {0, 2}, {{{0, 2, 1}}, {{0, 3, 1}}}), IsEmpty());
}

}  // namespace
}  // namespace heddle::acceptance
