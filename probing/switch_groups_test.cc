// Which addresses are joined to one switch, and which are not.
#include "probing/switch_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::probing {
namespace {

class SwitchGroupsTest : public testing::Test {
 protected:
  // A flow whose hops answered with these addresses; "" for none.
  void flow(uint32_t from, uint32_t to, const std::vector<std::string>& routers) {
    FlowProbes& made = all_.flows[{from, to, next_port_++}];
    for (const std::string& router : routers) {
      made.hops.push_back({.sent = 1, .answered = router.empty() ? 0u : 1u, .router = router});
    }
    made.sent = made.delivered = 10;
    made.routers = static_cast<uint32_t>(routers.size());
  }

  Observations all_{.nics = {{"h0", 0, "10.0.0.1"}, {"h1", 0, "10.0.1.1"}, {"h2", 0, "10.0.2.1"}},
                    .flows = {}};

 private:
  uint16_t next_port_ = 1;
};

TEST_F(SwitchGroupsTest, TheFirstRouterFromANicAndTheLastToItAreOneSwitch) {
  flow(0, 2, {"10.1.0.1", "10.9.0.1", "10.1.2.9"});
  flow(2, 0, {"10.1.2.1", "10.9.0.5", "10.1.0.9"});
  const SwitchGroups groups(all_);
  EXPECT_EQ(groups.switch_at("10.1.0.1"), groups.switch_at("10.1.0.9"));
  EXPECT_EQ(groups.switch_at("10.1.2.1"), groups.switch_at("10.1.2.9"));
  EXPECT_EQ(groups.switch_of(0), groups.switch_at("10.1.0.1"));
  EXPECT_NE(groups.switch_of(0), groups.switch_of(2));
  EXPECT_EQ(groups.switches()[*groups.switch_of(0)].certainty, Certainty::kInferred);
  EXPECT_NE(groups.switch_at("10.9.0.1"), groups.switch_at("10.9.0.5"));
  EXPECT_EQ(groups.switches().size(), 4u);
}

TEST_F(SwitchGroupsTest, TheOtherAddressOfASubnetIsTheRouterBefore) {
  // 10.9.0.0/31 is between leaf 0 and the spine, 10.9.0.4/31 between leaf 2 and the spine.
  flow(0, 2, {"10.1.0.1", "10.9.0.1", "10.9.0.4"});
  flow(2, 0, {"10.1.2.1", "10.9.0.5", "10.9.0.0"});
  const SwitchGroups groups(all_);
  EXPECT_EQ(groups.switch_at("10.9.0.1"), groups.switch_at("10.9.0.5"));
  EXPECT_EQ(groups.switches()[*groups.switch_at("10.9.0.1")].certainty, Certainty::kGuessed);
  EXPECT_EQ(groups.switches().size(), 3u);
}

TEST_F(SwitchGroupsTest, NicsWithOneRouterBetweenThemShareItEvenIfItIsSilent) {
  flow(0, 1, {""});
  flow(0, 2, {"", "10.9.0.1", ""});
  const SwitchGroups groups(all_);
  EXPECT_EQ(groups.switch_of(0), groups.switch_of(1));
  EXPECT_NE(groups.switch_of(0), groups.switch_of(2));
  EXPECT_TRUE(groups.switches()[*groups.switch_of(0)].addresses.empty());
}

TEST_F(SwitchGroupsTest, AddressesOfOneRouteAreNeverJoined) {
  // Both would be the last before NIC 2, but one flow crosses both.
  flow(0, 2, {"10.1.0.1", "10.9.0.1", "10.1.2.9"});
  flow(1, 2, {"10.1.0.1", "10.1.2.9", "10.9.0.1"});
  const SwitchGroups groups(all_);
  EXPECT_NE(groups.switch_at("10.9.0.1"), groups.switch_at("10.1.2.9"));
}

TEST_F(SwitchGroupsTest, ANicThatNoProbeShowsHasNoSwitch) {
  flow(0, 1, {"10.1.0.1"});
  const SwitchGroups groups(all_);
  EXPECT_FALSE(groups.switch_of(2));
}

}  // namespace
}  // namespace heddle::probing
