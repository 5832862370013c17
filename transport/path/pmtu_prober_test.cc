// The search for the largest datagram that a path passes.
#include "transport/path/pmtu_prober.h"

#include <gtest/gtest.h>

#include <vector>

#include "transport/params.h"
#include "transport/path/path_set.h"
#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

using events::RecoveryStep;

constexpr uint32_t kLarge = 8952;

class PmtuProberTest : public SendTest {};

TEST_F(PmtuProberTest, PathsStartAtTheBaseSizeAndGrowToWhatPasses) {
  open(1, kLarge);
  ASSERT_TRUE(send(1));
  EXPECT_EQ(quota_.datagram_bytes, SendController::kBaseDatagram);
  uint16_t id = 0;
  ASSERT_EQ(probe_size(id), kLarge);
  EXPECT_EQ(probe_size(id), 0u);  // one at a time
  ack(0, {{2, 2}});
  EXPECT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
  EXPECT_EQ(probe_size(id), 0u);
}

// A plan of two rails: 30 full packets for each connection went out on paths without payload.
TEST_F(PmtuProberTest, PathsWithoutPayloadAreNotSearched) {
  open(4, kLarge);
  const std::vector<uint16_t> chosen = {2};
  ASSERT_TRUE(sender_.choose(now_, chosen));
  uint16_t id = 0;
  ASSERT_EQ(probe_size(id), kLarge);
  EXPECT_EQ(id, 2);
  EXPECT_EQ(probe_size(id), 0u);
  // The restriction is lifted.
  ASSERT_TRUE(sender_.choose(now_, {}));
  ASSERT_EQ(probe_size(id), kLarge);
  EXPECT_NE(id, 2);
}

TEST_F(PmtuProberTest, ASizeThatDoesNotPassIsFollowedByTheNextSmaller) {
  open(1, kLarge);
  uint16_t id = 0;
  uint64_t number = 0;
  std::vector<uint32_t> tried;
  while (true) {
    const uint32_t bytes = probe_size(id);
    if (bytes == 0) break;
    ++number;
    tried.push_back(bytes);
    ASSERT_TRUE(send(4));  // small ones pass
    number += 4;
    const bool passes = bytes <= 1472;
    now_ += micros(50);
    ack(0, {{passes ? number - 4 : number - 3, number}});
    sender_.peer_was_heard();
    wait(millis(1));
  }
  EXPECT_EQ(tried, (std::vector<uint32_t>{kLarge, kLarge, kLarge, 4048, 4048, 4048, 1472}));
  EXPECT_EQ(path(0).segment_bytes, 1472 - kDataHeaderBytes);
  EXPECT_EQ(controller_->losses.size(), 0u);  // a size that does not pass is no congestion
}

// VOPR, seed 108036: a probe left besides a full window, and the peer's socket dropped it or what
// followed.
TEST_F(PmtuProberTest, AProbeWaitsForRoomInThePeersSocket) {
  constexpr uint64_t kCapacity = 32'768;
  constexpr uint64_t kCost = SendController::kBaseDatagram + SendController::kReceiveOverhead;
  open(1, kLarge);
  sender_.set_peer_window(kCapacity);
  uint64_t segments = 0;
  while (send()) segments += quota_.segments;
  ASSERT_EQ(segments, kCapacity / kCost);
  uint16_t id = 0;
  EXPECT_EQ(probe_size(id), 0u);
  // Payload does not take the room that it waits for.
  uint64_t acked = 0;
  uint32_t bytes = 0;
  while (bytes == 0 && acked < segments) {
    ++acked;
    now_ += micros(10);
    ASSERT_TRUE(ack(0, {{1, acked}}));
    EXPECT_FALSE(send()) << acked;
    bytes = probe_size(id);
  }
  EXPECT_EQ(bytes, kLarge);
  const uint64_t held = (segments - acked) * kCost + kLarge + SendController::kReceiveOverhead;
  EXPECT_LE(held, kCapacity);
  EXPECT_GT(held + kCost, kCapacity);
  EXPECT_FALSE(send());
  ASSERT_TRUE(ack(0, {{1, segments + 1}}));
  EXPECT_TRUE(send());
}

// No room would ever be enough for it.
TEST_F(PmtuProberTest, AProbeLargerThanThePeersSocketDoesNotWait) {
  open(1, kLarge);
  sender_.set_peer_window(8'000);
  while (send()) {
  }
  uint16_t id = 0;
  EXPECT_EQ(probe_size(id), kLarge);
}

TEST_F(PmtuProberTest, ASizeThatIcmpReportsIsProbed) {
  open(1, kLarge);
  uint16_t id = 0;
  ASSERT_EQ(probe_size(id), kLarge);
  sender_.on_too_large(now_, 0, 1450);
  ASSERT_EQ(probe_size(id), 1450u);
  ack(0, {{2, 2}});
  EXPECT_EQ(path(0).segment_bytes, 1450 - kDataHeaderBytes);
  sender_.on_too_large(now_, 0, 100);    // below what every network passes: a lie
  sender_.on_too_large(now_, 0, 9000);   // larger than what is used: no news
  sender_.on_too_large(now_, 99, 1300);  // no such path
  EXPECT_EQ(path(0).segment_bytes, 1450 - kDataHeaderBytes);
}

TEST_F(PmtuProberTest, ASmallerSizeThatIcmpReportsHoldsAtOnce) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  ASSERT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
  sender_.on_too_large(now_, 0, 1400);
  EXPECT_EQ(path(0).segment_bytes, 1400 - kDataHeaderBytes);
}

TEST_F(PmtuProberTest, ASizeProbeThatCouldNotLeaveIsOfferedAgain) {
  open(8, kLarge);
  uint16_t id = 0;
  uint32_t bytes = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(sender_.poll_size_probe(now_, id, bytes));  // and no record was left for it
  }
}

TEST_F(PmtuProberTest, FewSizeProbesAreInFlightAtATime) {
  open(64, kLarge);
  uint16_t id = 0;
  int tried = 0;
  while (probe_size(id) != 0) ++tried;
  EXPECT_GE(tried, 1);
  EXPECT_LE(tried, 4);
}

TEST_F(PmtuProberTest, APathThatStopsAnsweringReturnsToTheBaseSize) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  ASSERT_TRUE(send(4));
  EXPECT_EQ(quota_.datagram_bytes, kLarge);
  wait(seconds(1));
  ASSERT_FALSE(path(0).active);
  EXPECT_EQ(path(0).segment_bytes, SendController::kBaseDatagram - kDataHeaderBytes);
  const uint64_t newest = 5 + static_cast<uint64_t>(probes_[0]);
  ASSERT_TRUE(ack(0, {{newest, newest}}));
  EXPECT_EQ(probe_size(id), kLarge);
}

TEST_F(PmtuProberTest, APathThatLosesAllLargeDatagramsReturnsToTheBaseSize) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  uint64_t number = 1;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes) << round;
    ASSERT_TRUE(send(4));
    for (int i = 0; i < 4; ++i) {  // small ones pass
      record(0, 1, 200);
    }
    number += 8;
    now_ += micros(100);
    ack(0, {{number - 3, number}});
    now_ += micros(100);
  }
  EXPECT_EQ(path(0).segment_bytes, SendController::kBaseDatagram - kDataHeaderBytes);
  EXPECT_EQ(steps(RecoveryStep::kSizeLowered), 1u);
  EXPECT_EQ(probe_size(id), kLarge);
}

TEST_F(PmtuProberTest, LossOfSomeLargeDatagramsKeepsTheSize) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  uint64_t number = 1;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(send(7));
    number += 7;
    now_ += micros(100);
    ack(0, {{number - 2, number}});
    now_ += micros(100);
  }
  EXPECT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
}

// --- the search alone ---

class PmtuSearchTest : public ::testing::Test {
 protected:
  PmtuSearchTest() {
    prober_.open(kLarge);
    prober_.open_path(path_, params::kBaseDatagram, true);
  }
  // Sends a probe of the size that is searched, which is lost to a gap.
  std::optional<SizeChange> lose() {
    prober_.on_probe_sent(path_);
    return prober_.on_probe_lost(path_, events::LossCause::kGap);
  }

  PmtuProber prober_;
  PathMtu path_;
};

TEST_F(PmtuSearchTest, IfNoSizePassesTheSearchEndsAtTheBaseSize) {
  uint32_t probes = 0;
  while (prober_.searching()) {
    ASSERT_LT(++probes, 100u);
    EXPECT_GT(path_.probed(), params::kBaseDatagram);
    lose();
  }
  EXPECT_EQ(probes % params::kSizeProbes, 0u) << "each size has the same number of probes";
  EXPECT_EQ(path_.confirmed(), params::kBaseDatagram);
  EXPECT_EQ(path_.probed(), 0u);
}

TEST_F(PmtuSearchTest, EachChangeReportsWhatPassesAndWhatDoesNot) {
  std::optional<SizeChange> change;
  while (!change) change = lose();
  EXPECT_EQ(change->confirmed, params::kBaseDatagram);
  EXPECT_EQ(change->refused, kLarge);
  EXPECT_EQ(prober_.smallest_refused(), kLarge);
  prober_.on_probe_sent(path_);
  const uint32_t probed = path_.probed();
  change = prober_.on_probe_acked(path_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->confirmed, probed);
  EXPECT_EQ(change->refused, 0u);
  EXPECT_FALSE(prober_.searching());
}

TEST_F(PmtuSearchTest, AProbeThatIsLostWithItsPathCountsForNoSize) {
  for (uint32_t i = 0; i < 3u * params::kSizeProbes; ++i) {
    prober_.on_probe_sent(path_);
    EXPECT_FALSE(prober_.on_probe_lost(path_, events::LossCause::kTimeout));
  }
  EXPECT_EQ(path_.probed(), kLarge);
}

// The count of probes in flight wrapped around, and no size was probed any more.
TEST_F(PmtuSearchTest, AProbeThatIcmpAnsweredAndItsPathLostIsCountedOnce) {
  PathSet paths;
  paths.open(2, {});
  for (TxPath& path : paths) prober_.open_path(path.mtu, params::kBaseDatagram, true);
  prober_.on_probe_sent(paths[0].mtu);
  prober_.on_too_large(paths[0].mtu, 1450);
  prober_.on_probe_lost(paths[0].mtu, events::LossCause::kTimeout);
  uint16_t id = 0;
  uint32_t bytes = 0;
  EXPECT_TRUE(prober_.poll(paths, 1 << 20, id, bytes));
}

TEST_F(PmtuSearchTest, ARestartedSearchTriesTheSizeThatPassedBefore) {
  prober_.on_probe_sent(path_);
  ASSERT_TRUE(prober_.on_probe_acked(path_));
  prober_.restart(path_);
  EXPECT_EQ(path_.confirmed(), params::kBaseDatagram);
  EXPECT_EQ(path_.probed(), kLarge);
  EXPECT_TRUE(prober_.searching());
}

}  // namespace
}  // namespace heddle::transport
