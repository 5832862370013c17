// Every fault of the network: its rate, its effect, and its counter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "simulator/network.h"
#include "simulator/testing/raw_host.h"
#include "topology/generators.h"
#include "topology/names.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using topology::LinkChange;
using topology::LinkChangeKind;
using topology::LinkDirection;
using topology::LinkFaults;

constexpr uint32_t kBytes = 934;  // 1,000 on the wire: 800 ns at 10 Gb/s
constexpr uint32_t kMany = 20'000;

topology::Topology cable(const LinkFaults& forward = {}, std::vector<LinkChange> changes = {}) {
  topology::Topology topology =
      topology::point_to_point({.rate = gigabits_per_s(10), .delay = micros(10)});
  topology.links[0].forward = forward;
  topology.changes = std::move(changes);
  return topology;
}

class FaultsTest : public testing::Test {
 protected:
  void make(const topology::Topology& topology, const NetworkOptions& options = {}) {
    network_.emplace(topology, options, 1);
    a_.emplace(*network_, 0);
    b_.emplace(*network_, 1, SimDatapathOptions{.receive_capacity = mebibytes(4)});
  }
  // Sends `count` datagrams from a to b, one per microsecond, and runs until all have arrived.
  void send(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(a_->send(*b_, kBytes));
      network_->run_until(network_->now() + micros(1));
    }
    network_->run_until(network_->now() + millis(1));
  }
  void TearDown() override {
    if (network_) {
      EXPECT_EQ(network_->packets_alive(), 0u) << "a packet was forgotten";
    }
  }
  uint64_t fate(Fate which) const { return network_->fates()[which]; }

  std::optional<Network> network_;
  std::optional<RawHost> a_;
  std::optional<RawHost> b_;
};

// 1% of 20,000 is 200; six standard deviations are 84.
constexpr uint32_t kOnePercent = 10'000;
void expect_one_percent(uint64_t count) { EXPECT_NEAR(static_cast<double>(count), 200, 84); }

TEST_F(FaultsTest, WithoutFaultsEverythingArrivesInOrder) {
  make(cable());
  send(1'000);
  ASSERT_EQ(b_->arrivals.size(), 1'000u);
  for (uint32_t i = 0; i < 1'000; ++i) EXPECT_EQ(b_->arrivals[i].number, i);
  for (uint32_t i = 0; i < static_cast<uint32_t>(Fate::kCount); ++i) {
    EXPECT_EQ(fate(static_cast<Fate>(i)), 0u) << name_of(static_cast<Fate>(i));
  }
}

TEST_F(FaultsTest, LossOccursAtItsRate) {
  make(cable({.loss_per_million = kOnePercent}));
  send(kMany);
  expect_one_percent(fate(Fate::kLost));
  EXPECT_EQ(b_->arrivals.size(), kMany - fate(Fate::kLost));
}

TEST_F(FaultsTest, LossAffectsOneDirection) {
  make(cable({.loss_per_million = 1'000'000}));
  send(10);
  EXPECT_TRUE(b_->arrivals.empty());
  EXPECT_TRUE(b_->send(*a_, kBytes));
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(a_->arrivals.size(), 1u);
}

TEST_F(FaultsTest, DuplicationOccursAtItsRate) {
  make(cable({.duplicate_per_million = kOnePercent}));
  send(kMany);
  expect_one_percent(fate(Fate::kDuplicated));
  EXPECT_EQ(b_->arrivals.size(), kMany + fate(Fate::kDuplicated));
  std::set<uint32_t> unique;
  for (const Arrival& arrival : b_->arrivals) unique.insert(arrival.number);
  EXPECT_EQ(unique.size(), kMany);
}

TEST_F(FaultsTest, ReorderingOccursAtItsRate) {
  make(cable(
      {.reorder_per_million = kOnePercent, .reorder_min = micros(5), .reorder_max = micros(30)}));
  const Nanos start = network_->now();
  send(kMany);
  ASSERT_EQ(b_->arrivals.size(), kMany);
  expect_one_percent(fate(Fate::kReordered));
  uint64_t late = 0;
  uint32_t highest = 0;
  for (const Arrival& arrival : b_->arrivals) {
    const Nanos due = start + micros(arrival.number) + nanos(800) + micros(10);
    const Nanos extra = arrival.at - due;
    if (extra != Nanos{}) {
      ++late;
      EXPECT_GE(extra, micros(5));
      EXPECT_LE(extra, micros(30));
      EXPECT_LT(arrival.number, highest) << "others overtook it";
    }
    highest = std::max(highest, arrival.number);
  }
  EXPECT_EQ(late, fate(Fate::kReordered));
}

TEST_F(FaultsTest, CorruptHeadersAreDroppedByTheReceivingNic) {
  make(cable({.corrupt_header_per_million = kOnePercent}));
  send(kMany);
  expect_one_percent(fate(Fate::kHeaderCorrupted));
  EXPECT_EQ(fate(Fate::kChecksumDropped), fate(Fate::kHeaderCorrupted));
  EXPECT_EQ(b_->arrivals.size(), kMany - fate(Fate::kHeaderCorrupted));
}

TEST_F(FaultsTest, CorruptPayloadIsAlwaysDropped) {
  make(cable({.corrupt_payload_per_million = kOnePercent}), {.deliver_corrupt_headers = true});
  send(kMany);
  expect_one_percent(fate(Fate::kPayloadCorrupted));
  EXPECT_EQ(fate(Fate::kChecksumDropped), fate(Fate::kPayloadCorrupted));
}

TEST_F(FaultsTest, CorruptHeadersArriveWithOneBitFlippedIfConfigured) {
  make(cable({.corrupt_header_per_million = 1'000'000}), {.deliver_corrupt_headers = true});
  send(500);
  ASSERT_EQ(b_->arrivals.size(), 500u);
  std::set<uint32_t> bits;
  for (uint32_t i = 0; i < 500; ++i) {
    std::vector<std::byte> sent(44);
    std::memcpy(&sent[40], &i, 4);
    for (uint32_t bit = 0; bit < 44 * 8; ++bit) {
      const std::byte got = b_->arrivals[i].datagram[bit / 8];
      if (((got ^ sent[bit / 8]) >> (bit % 8) & std::byte{1}) != std::byte{0})
        bits.insert(i * 400 + bit);
    }
  }
  EXPECT_EQ(bits.size(), 500u) << "one bit each";
}

TEST_F(FaultsTest, AnOutageCutsOffPacketsInFlightAndEndsOnTime) {
  // Packet n is sent at n us and arrives at n + 10.8 us.
  make(cable({}, {{.at = micros(50) + nanos(500), .kind = LinkChangeKind::kDown},
                  {.at = micros(80) + nanos(500), .kind = LinkChangeKind::kUp}}));
  send(100);
  std::vector<uint32_t> expected;
  for (uint32_t n = 0; n < 100; ++n) {
    if (n < 40 || n > 80) expected.push_back(n);  // n + 10.8 < 50.5, or sent when the link is up
  }
  EXPECT_EQ(b_->numbers(), expected);
  EXPECT_EQ(fate(Fate::kCutOff), 11u);
  EXPECT_EQ(fate(Fate::kLinkDown), 30u);
}

TEST_F(FaultsTest, AnOutageOfOneDirectionDoesNotAffectTheOther) {
  make(
      cable({}, {{.at = {}, .direction = LinkDirection::kForward, .kind = LinkChangeKind::kDown}}));
  network_->run_until(network_->now() + nanos(1));
  send(3);
  EXPECT_TRUE(b_->arrivals.empty());
  b_->send(*a_, kBytes);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(a_->arrivals.size(), 1u);
}

TEST_F(FaultsTest, ARateChangeAppliesToLaterPackets) {
  make(cable({},
             {{.at = nanos(1'000), .kind = LinkChangeKind::kRate, .rate = gigabits_per_s(1)},
              {.at = nanos(9'000), .kind = LinkChangeKind::kRate, .rate = gigabits_per_s(100)}}));
  const Nanos start = network_->now();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(a_->send(*b_, kBytes));
  network_->run_until(start + millis(1));
  std::vector<int64_t> times;
  for (const Arrival& arrival : b_->arrivals)
    times.push_back((arrival.at - start - micros(10)).count);
  // The first two begin at 10 Gb/s, the third at 1,600 ns takes 8,000 ns, the others 80 ns each.
  EXPECT_THAT(times, ElementsAre(800, 1'600, 9'600, 9'680, 9'760));
}

TEST_F(FaultsTest, FaultsMayChangeWithTime) {
  make(cable({}, {{.at = micros(100) - nanos(1),
                   .kind = LinkChangeKind::kFaults,
                   .faults = {.loss_per_million = 1'000'000}},
                  {.at = micros(200) - nanos(1), .kind = LinkChangeKind::kFaults}}));
  send(300);
  EXPECT_EQ(fate(Fate::kLost), 100u);
  EXPECT_EQ(b_->arrivals.size(), 200u);
}

TEST_F(FaultsTest, AClosedPortIsReported) {
  make(cable());
  a_->slow = true;
  a_->send_to(address_of(1, 99), 100, 7);
  network_->run_until(network_->now() + millis(1));
  transport::NetworkError error;
  ASSERT_TRUE(a_->datapath().poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kRefused);
  EXPECT_EQ(error.to, address_of(1, 99));
  EXPECT_EQ(error.path, 7);
  EXPECT_FALSE(a_->datapath().poll_error(error));
  EXPECT_EQ(fate(Fate::kRefused), 1u);
}

TEST_F(FaultsTest, AHostThatIsDownSendsNothing) {
  make(cable());
  network_->set_nic_down(1, true);
  send(5);
  EXPECT_TRUE(b_->arrivals.empty());
  EXPECT_EQ(fate(Fate::kHostDown), 5u);
  transport::NetworkError error;
  EXPECT_FALSE(a_->datapath().poll_error(error));
  EXPECT_TRUE(b_->send(*a_, kBytes));
  network_->run_until(network_->now() + millis(1));
  EXPECT_TRUE(a_->arrivals.empty());
  network_->set_nic_down(1, false);
  send(1);
  EXPECT_EQ(b_->arrivals.size(), 1u);
}

TEST_F(FaultsTest, ASmallMtuOnTheRouteIsReportedByTheSwitch) {
  topology::LinkShape narrow;
  narrow.mtu_bytes = 1'500;
  make(topology::parallel_paths(1, {}, narrow));
  a_->slow = true;
  a_->send(*b_, 1'472);
  a_->send(*b_, 1'473, 5);
  network_->run_until(network_->now() + millis(1));
  EXPECT_THAT(b_->numbers(), ElementsAre(0));
  transport::NetworkError error;
  ASSERT_TRUE(a_->datapath().poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kTooLarge);
  EXPECT_EQ(error.limit_bytes, 1'472u);
  EXPECT_EQ(error.path, 5);
  EXPECT_EQ(error.to, b_->datapath().local_address());
  EXPECT_EQ(fate(Fate::kTooLarge), 1u);
}

TEST_F(FaultsTest, ANetworkWithoutIcmpReportsNothing) {
  topology::LinkShape narrow;
  narrow.mtu_bytes = 1'500;
  make(topology::parallel_paths(1, {}, narrow), {.reports_errors = false});
  a_->slow = true;
  a_->send(*b_, 2'000);
  a_->send_to(address_of(1, 99), 100);
  network_->run_until(network_->now() + millis(1));
  transport::NetworkError error;
  EXPECT_FALSE(a_->datapath().poll_error(error));
  EXPECT_EQ(fate(Fate::kTooLarge), 1u);
  EXPECT_EQ(fate(Fate::kRefused), 1u);
}

// Two leaves, two spines: spine0 loses its cable to the receiver's leaf.
TEST_F(FaultsTest, RemoteSwitchesAvoidAFailedLinkOnceRoutesHaveConverged) {
  topology::Topology topology =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  make(topology, {.routes_converge_after = millis(5)});
  const uint32_t cable = topology::find_link(topology, "leaf1", "spine0")->link;
  network_->apply({.link = cable, .kind = LinkChangeKind::kDown});
  network_->apply({.link = cable, .kind = LinkChangeKind::kNotice});
  for (uint16_t path = 0; path < 64; ++path) a_->send(*b_, 100, path);
  network_->run_until(network_->now() + millis(4));
  const uint64_t lost = fate(Fate::kNoRoute);
  EXPECT_GT(lost, 16u);
  EXPECT_EQ(b_->arrivals.size(), 64 - lost);
  network_->run_until(network_->now() + millis(2));
  for (uint16_t path = 0; path < 64; ++path) a_->send(*b_, 100, path);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(fate(Fate::kNoRoute), lost);
  const uint32_t other = topology::find_link(topology, "leaf1", "spine1")->link;
  const uint64_t before =
      network_->carried_bytes(2 * other) + network_->carried_bytes(2 * other + 1);
  network_->apply({.link = cable, .kind = LinkChangeKind::kUp});
  network_->run_until(network_->now() + millis(6));
  for (uint16_t path = 0; path < 64; ++path) a_->send(*b_, 100, path);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(fate(Fate::kNoRoute), lost);
  const uint64_t after =
      network_->carried_bytes(2 * other) + network_->carried_bytes(2 * other + 1);
  EXPECT_LT(after - before, before / 2) << "both spines carry the last 64 packets";
}

// A link that its switch knows to be down is excluded; one that failed silently is a black hole.
TEST_F(FaultsTest, SwitchesAvoidALinkOnceTheyNoticeItsFailure) {
  constexpr uint32_t kPaths = 4;
  make(topology::parallel_paths(kPaths, {}, {}));
  network_->apply({.link = 3, .kind = LinkChangeKind::kDown});
  for (uint16_t path = 0; path < 64; ++path) a_->send(*b_, 100, path);
  network_->run_until(network_->now() + millis(1));
  const uint64_t swallowed = fate(Fate::kLinkDown);
  EXPECT_GT(swallowed, 3u);
  EXPECT_EQ(b_->arrivals.size(), 64 - swallowed);
  network_->apply({.link = 3, .kind = LinkChangeKind::kNotice});
  for (uint16_t path = 0; path < 64; ++path) a_->send(*b_, 100, path);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(fate(Fate::kLinkDown), swallowed);
  EXPECT_EQ(b_->arrivals.size(), 128 - swallowed);
  for (uint32_t link = 2; link < 2 + kPaths; ++link) {
    network_->apply({.link = link, .kind = LinkChangeKind::kDown});
    network_->apply({.link = link, .kind = LinkChangeKind::kNotice});
  }
  a_->send(*b_, 100);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(fate(Fate::kNoRoute), 1u);
  for (uint32_t link = 2; link < 2 + kPaths; ++link) {
    network_->apply({.link = link, .kind = LinkChangeKind::kUp});
  }
  a_->send(*b_, 100);
  network_->run_until(network_->now() + millis(1));
  EXPECT_EQ(b_->arrivals.size(), 129 - swallowed);
}

TEST_F(FaultsTest, InjectedBytesArriveUnchanged) {
  make(cable());
  const std::vector<std::byte> garbage(333, std::byte{0x7e});
  network_->inject(address_of(0, 1'234), address_of(1, 4'791), garbage);
  network_->run_until(network_->now() + millis(1));
  ASSERT_EQ(b_->arrivals.size(), 1u);
  EXPECT_EQ(b_->arrivals[0].datagram, garbage);
  EXPECT_EQ(b_->arrivals[0].from_port, 1'234);
}

}  // namespace
}  // namespace heddle::simulator
