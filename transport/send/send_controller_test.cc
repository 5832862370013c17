// The send controller as a whole: records, round trips from acknowledgements, and closing.
#include "transport/send/send_controller.h"

#include <gtest/gtest.h>

#include "transport/testing/send_fixture.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kLarge = 8952;

class SendControllerTest : public SendTest {};

// Their difference overflowed, and the peer seemed to have held it for no time.
TEST_F(SendControllerTest, ADifferenceOfPeerTimesThatOverflowsIsClamped) {
  open(1);
  record(0, 1, 100);
  now_ += micros(300);
  AckFrame frame = frame_of(0, {{1, 1}});
  frame.received_at = Nanos{INT64_MIN};
  ASSERT_TRUE(sender_.on_ack(now_, Nanos::never(), frame));
  EXPECT_EQ(controller_->acks.back().rtt, nanos(1)) << "all of the time is the peer's own";
}

TEST_F(SendControllerTest, WithAnEmptyPoolNoPacketIsRecorded) {
  open(1);
  while (pool_.lent() < pool_.limit()) ASSERT_NE(pool_.lend(), kNoIndex);
  EXPECT_EQ(sender_.record(0, 1), nullptr);
}

TEST_F(SendControllerTest, AnAcknowledgementOfUnsentPacketsIsRejected) {
  open(2);
  ASSERT_TRUE(send(3));
  EXPECT_FALSE(ack(quota_.path, {{1, 4}}));
  EXPECT_FALSE(ack(2, {{1, 1}}));
  EXPECT_FALSE(ack(UINT16_MAX, {{1, 1}}));
  EXPECT_TRUE(ack(quota_.path, {{1, 3}}));
  EXPECT_EQ(keeper_.acked, 3u);
}

TEST_F(SendControllerTest, TheRoundTripExcludesTheTimeAtThePeer) {
  open(1, SendController::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  now_ += micros(500);
  AckFrame frame = frame_of(0, {{1, 1}});
  frame.received_at = seconds(77);  // by another clock
  ASSERT_TRUE(sender_.on_ack(now_, seconds(77) + micros(400), frame));
  EXPECT_EQ(path(0).smoothed_rtt, micros(100));
  EXPECT_EQ(controller_->acks[0].rtt, micros(100));
}

// The first acknowledgement with this arrival time was lost.
TEST_F(SendControllerTest, ARepeatedArrivalTimeMeasuresNoRoundTrip) {
  open(1, SendController::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  ASSERT_TRUE(send(1));
  now_ += micros(100);
  ack(0, {{1, 1}});
  now_ += millis(50);
  AckFrame frame = frame_of(0, {{1, 2}});
  frame.received_at = kReportedBefore;
  ASSERT_TRUE(sender_.on_ack(now_, now_, frame));
  EXPECT_EQ(keeper_.acked, 2u);
  EXPECT_EQ(path(0).smoothed_rtt, micros(100));
  send(1);
  wait(millis(5));
  EXPECT_EQ(probes_[0], 1) << "nor does it seem to have been held for long";
}

TEST_F(SendControllerTest, AnAcknowledgementOfOlderPacketsMeasuresNoRoundTrip) {
  open(1, SendController::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  ASSERT_TRUE(send(1));
  now_ += micros(100);
  ack(0, {{2, 2}});
  const Nanos before = path(0).smoothed_rtt;
  now_ += millis(50);
  ack(0, {{1, 2}});
  EXPECT_EQ(path(0).smoothed_rtt, before);
}

// VOPR, seed 210373: nothing was in flight on it that could be acknowledged, so it took no further
// write, and nothing else carried the message. Seed 230237: a probe after each fence had a reliable
// NIC make its queue pair anew, in every round trip.
TEST_F(SendControllerTest, AFencedPathIsProbedWhereItsNumbersAreTooFarAheadForAWriteOnly) {
  for (const uint64_t writes : {uint64_t{10}, Immediate::kMaxAhead}) {
    strategy_paths_ = 1;
    probes_ = {};
    open(1);
    uint64_t sent = 0;
    while (sent < writes && send(1)) ++sent;
    ASSERT_EQ(sent, writes);
    const bool ahead = writes == Immediate::kMaxAhead;
    ASSERT_TRUE(sender_.on_new_epoch(now_, 1, PathEpoch(1)));
    drain_probes();
    EXPECT_EQ(probes_[1], ahead ? 1 : 0) << writes;
    if (ahead) {
      EXPECT_FALSE(send(1));
      EXPECT_TRUE(ack(1, {{writes + 1, writes + 1}}));
    }
    EXPECT_TRUE(send(1)) << writes;
    sender_.close();
  }
}

// VOPR, seed 301170: a reliable NIC failed each write just before its acknowledgement came, which
// returned the path to have the next one fail.
TEST_F(SendControllerTest, AnAcknowledgementOfAFailedWriteDoesNotReturnItsPath) {
  strategy_paths_ = 2;
  open(1);
  record(1, 1, 100);
  ASSERT_TRUE(sender_.on_send_failed(now_, 1, 1));
  ASSERT_FALSE(path(1).active);
  drain_probes();
  ASSERT_EQ(probes_[1], 1);
  EXPECT_TRUE(ack(1, {{1, 1}}));
  EXPECT_FALSE(path(1).active);
  EXPECT_TRUE(ack(1, {{1, 2}}));
  EXPECT_TRUE(path(1).active) << "the probe did not fail";
}

// VOPR, seeds 380636 and 384119: each probe was answered, and each write of payload failed.
TEST_F(SendControllerTest, APathThatFailsAfterEachReturnIsProbedLaterEachTime) {
  strategy_paths_ = 1;
  Nanos before;
  for (uint32_t in_vain = 0; in_vain < 8; ++in_vain) {
    open(1);
    record(1, 1, 100);
    const Nanos failed = now_;
    ASSERT_TRUE(sender_.on_send_failed(now_, 1, 1, in_vain));
    probes_ = {};
    drain_probes();
    while (probes_[1] == 0) wait(micros(100));
    EXPECT_GE(now_ - failed, before);
    EXPECT_LE(now_ - failed, params::kLongestProbeInterval + millis(1));
    before = now_ - failed;
    sender_.close();
  }
  EXPECT_GE(before, millis(50));
}

// Each write fails, and is fenced in every round trip.
TEST_F(SendControllerTest, ASuspectPathThatIsFencedIsProbedAtOnceOnlyWhereNoOtherWorks) {
  for (const bool alone : {false, true}) {
    strategy_paths_ = 2;
    probes_ = {};
    open(1);
    for (const uint16_t id : {uint16_t{1}, uint16_t{2}}) {
      if (id == 2 && !alone) break;
      record(id, 1, 100);
      ASSERT_TRUE(sender_.on_send_failed(now_, id, 1));
    }
    drain_probes();
    ASSERT_EQ(probes_[1], 1);
    ASSERT_TRUE(sender_.on_new_epoch(now_, 1, PathEpoch(1)));
    drain_probes();
    EXPECT_EQ(probes_[1], alone ? 2 : 1);
    wait(params::kLongestProbeInterval + millis(1));
    EXPECT_GT(probes_[1], 1) << "its timer probes it";
    sender_.close();
  }
}

// Its timer was stopped by an acknowledgement that did not return it.
TEST_F(SendControllerTest, ASuspectPathIsProbedByItsTimerWhateverIsAcknowledgedLate) {
  strategy_paths_ = 2;
  open(1);
  record(1, 1, 100);
  ASSERT_TRUE(sender_.on_send_failed(now_, 1, 1));
  drain_probes();
  ASSERT_TRUE(sender_.on_new_epoch(now_, 1, PathEpoch(1)));
  EXPECT_TRUE(ack(1, {{1, 1}}));
  const int before = probes_[1];
  wait(params::kLongestProbeInterval + millis(1));
  EXPECT_GT(probes_[1], before);
}

TEST_F(SendControllerTest, FencesDoNotDeferTheProbeOfASuspectPath) {
  strategy_paths_ = 2;
  open(1);
  record(1, 1, 100);
  ASSERT_TRUE(sender_.on_send_failed(now_, 1, 1));
  drain_probes();
  const int before = probes_[1];
  for (uint16_t epoch = 1; epoch <= 20; ++epoch) {
    ASSERT_TRUE(sender_.on_new_epoch(now_, 1, PathEpoch(epoch)));
    wait(params::kLongestProbeInterval / 10);
  }
  EXPECT_GT(probes_[1], before);
}

// VOPR, seed 333877: a failed probe was declared lost. Its acknowledgement no longer returned the
// path, and idle connections set their paths aside and returned them for ever.
TEST_F(SendControllerTest, TheAcknowledgementOfAProbeReturnsItsPathThoughTheNicFailedIt) {
  strategy_paths_ = 2;
  open(1);
  record(1, 1, 100);
  ASSERT_TRUE(sender_.on_send_failed(now_, 1, 1));
  drain_probes();
  ASSERT_TRUE(sender_.on_send_failed(now_, 1, 2));
  EXPECT_TRUE(ack(1, {{1, 2}}));
  EXPECT_TRUE(path(1).active);
}

TEST_F(SendControllerTest, ClosingReturnsAllRecords) {
  open(4, kLarge);
  while (send()) continue;
  EXPECT_GT(pool_.lent(), 0u);
  sender_.close();
  EXPECT_EQ(pool_.lent(), 0u);
  EXPECT_EQ(sender_.next_timeout(), Nanos::never());
}

}  // namespace
}  // namespace heddle::transport
