// What interfaces did between readings, and which changes of carriers are new.
#include "nodes/link_deltas.h"

#include <gtest/gtest.h>

#include "nodes/params.h"

namespace heddle::nodes {
namespace {

LinkState link(int index, const char* name, uint64_t packets) {
  LinkState made;
  made.index = index;
  made.name = name;
  made.up = true;
  made.received_packets = packets;
  made.received_bytes = packets * 100;
  return made;
}

bool all(const std::string& /*interface*/) { return true; }
bool none(const std::string& /*interface*/) { return false; }

TEST(LinkDeltas, AnEventHasWhatCameSinceTheLastReading) {
  LinkDeltas deltas;
  EXPECT_TRUE(deltas.take({link(2, "eth0", 1000)}, seconds(1), &all).samples.empty());
  LinkState next = link(2, "eth0", 1007);
  next.received_drops = 3;
  const auto events = deltas.take({next}, seconds(3), &all).samples;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].interface.view(), "eth0");
  EXPECT_EQ(events[0].span, seconds(2));
  EXPECT_EQ(events[0].received_packets, 7u);
  EXPECT_EQ(events[0].received_bytes, 700u);
  EXPECT_EQ(events[0].received_drops, 3u);
  EXPECT_TRUE(events[0].carrier);
}

TEST(LinkDeltas, QuietInterfacesAndLoopbackHaveNoEvent) {
  LinkDeltas deltas;
  LinkState loopback = link(1, "lo", 5);
  loopback.is_loopback = true;
  deltas.take({loopback, link(2, "eth0", 1000)}, seconds(1), &all);
  loopback.received_packets = 50;
  const auto taken = deltas.take({loopback, link(2, "eth0", 1000)}, seconds(2), &all);
  EXPECT_TRUE(taken.samples.empty());
}

// A driver that is loaded again, or an interface that is made anew, begins at zero.
TEST(LinkDeltas, ACounterThatFellBeganAnew) {
  LinkDeltas deltas;
  deltas.take({link(2, "eth0", 1000)}, seconds(1), &all);
  const auto events = deltas.take({link(2, "eth0", 4)}, seconds(2), &all).samples;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].received_packets, 4u);
}

TEST(LinkDeltas, InterfacesWithHardwareComeFirstWhereThereAreTooMany) {
  LinkDeltas deltas;
  std::vector<LinkState> before, after;
  for (int i = 0; i < 200; ++i) {
    before.push_back(link(10 + i, "veth", 0));
    before.back().is_virtual = true;
    after.push_back(link(10 + i, "veth", 1));
    after.back().is_virtual = true;
  }
  before.push_back(link(500, "eth0", 0));
  after.push_back(link(500, "eth0", 1));
  deltas.take(before, seconds(1), &all);
  const auto events = deltas.take(after, seconds(2), &all).samples;
  ASSERT_EQ(events.size(), params::kMostInterfaces);
  EXPECT_EQ(events[0].interface.view(), "eth0");
}

TEST(LinkDeltas, ACarrierThatChangesIsNotedOnce) {
  LinkDeltas deltas;
  LinkState eth0 = link(2, "eth0", 0);
  deltas.take({eth0}, seconds(1), &all);
  EXPECT_FALSE(deltas.note(eth0, seconds(2)));
  eth0.up = false;
  const auto lost = deltas.note(eth0, seconds(3));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->up);
  EXPECT_EQ(lost->time, seconds(3));
  EXPECT_FALSE(deltas.note(eth0, seconds(4)));
  EXPECT_TRUE(deltas.take({eth0}, seconds(5), &all).changes.empty());
  eth0.up = true;
  EXPECT_TRUE(deltas.note(eth0, seconds(6)));
  EXPECT_FALSE(deltas.note(link(9, "new", 0), seconds(7)));  // it is known from the next sample on
}

// The kernel drops notifications where too many come at once.
TEST(LinkDeltas, AChangeWhoseNotificationIsLostIsInTheNextReading) {
  LinkDeltas deltas;
  LinkState eth0 = link(2, "eth0", 0);
  deltas.take({eth0}, seconds(1), &all);
  eth0.up = false;
  const auto changes = deltas.take({eth0}, seconds(2), &all).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].up);
  EXPECT_EQ(changes[0].time, seconds(2));
  EXPECT_FALSE(deltas.note(eth0, seconds(3)));  // its notification was only late
  eth0.up = true;
  EXPECT_TRUE(deltas.note(eth0, seconds(4)));  // later ones are seen
}

LinkState veth(int index, const char* name) {
  LinkState made = link(index, name, 0);
  made.is_virtual = true;
  return made;
}

// Containers that end: their interfaces lose their carriers, and are removed.
TEST(LinkDeltas, AnInterfaceThatIsRemovedLosesNoCarrier) {
  LinkDeltas deltas;
  LinkState pair = veth(7, "veth12ab");
  LinkState nic = link(2, "eth0", 0);
  deltas.take({nic, pair}, seconds(1), &all);
  pair.up = false;
  EXPECT_FALSE(deltas.note(pair, millis(1100)));
  pair.is_removed = true;
  EXPECT_FALSE(deltas.note(pair, millis(1101)));
  EXPECT_TRUE(deltas.take({nic}, seconds(2), &all).changes.empty());
  nic.up = false;
  nic.is_removed = true;
  EXPECT_FALSE(deltas.note(nic, millis(2100)));
}

// The host's end of a container's pair, and a bridge without containers.
TEST(LinkDeltas, AVirtualInterfaceThatNoJobCanUseLosesNoCarrier) {
  LinkDeltas deltas;
  LinkState pair = veth(7, "veth12ab");
  deltas.take({pair}, seconds(1), &none);
  pair.up = false;
  EXPECT_FALSE(deltas.note(pair, millis(1100)));
  EXPECT_TRUE(deltas.take({pair}, seconds(2), &none).changes.empty());
  LinkState bridge = veth(8, "docker0");
  bridge.is_bridge = true;
  deltas.take({bridge}, seconds(3), &all);
  bridge.up = false;
  EXPECT_FALSE(deltas.note(bridge, millis(3100)));
  EXPECT_TRUE(deltas.take({bridge}, seconds(4), &all).changes.empty());
}

// A container's own interface, in its network namespace.
TEST(LinkDeltas, AVirtualInterfaceWithAnAddressKeepsTheTimeOfItsLoss) {
  LinkDeltas deltas;
  LinkState eth0 = veth(3, "eth0");
  deltas.take({eth0}, seconds(1), &all);
  eth0.up = false;
  EXPECT_FALSE(deltas.note(eth0, millis(1300)));
  const auto changes = deltas.take({eth0}, seconds(2), &all).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].up);
  EXPECT_EQ(changes[0].time, millis(1300));
}

}  // namespace
}  // namespace heddle::nodes
