// How much may leave: the congestion window, pacing, the peer's capacity, and requests for
// acknowledgements.
#include "transport/send/send_window.h"

#include <gtest/gtest.h>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

class SendWindowTest : public SendTest {};

TEST_F(SendWindowTest, TheWindowBoundsWhatLeaves) {
  open(1);
  controller_->window_bytes = 30'000;
  uint64_t sent = 0;
  while (send()) sent += uint64_t{quota_.segments} * quota_.datagram_bytes;
  EXPECT_LE(sent, 30'000u);
  EXPECT_GE(sent, 24'000u);
  ack(0, {{1, sent / SendController::kBaseDatagram}});
  EXPECT_TRUE(send());
}

TEST_F(SendWindowTest, InASmallWindowOneSegmentLeaves) {
  open(1);
  controller_->window_bytes = 10;
  EXPECT_TRUE(send());
  EXPECT_EQ(quota_.segments, 1u);
  EXPECT_FALSE(send());
}

TEST_F(SendWindowTest, ThePeersCapacityCountsTheOverheadOfDatagrams) {
  open(1);
  sender_.set_peer_window(20'000);
  uint64_t segments = 0;
  while (send()) segments += quota_.segments;
  EXPECT_EQ(segments, 20'000 / (SendController::kBaseDatagram + SendController::kReceiveOverhead));
  EXPECT_TRUE(quota_.last_for_now);
}

TEST_F(SendWindowTest, AFullWindowRequestsAnAcknowledgementEachQuarterOnly) {
  open(1);
  sender_.set_peer_window(500'000);
  int asked = 0;
  int packets = 0;
  for (uint64_t number = 1; number <= 2'000; ++number) {
    if (number > 317) ack(0, {{number - 317, number - 317}});  // it stays full
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
    SentBurst* run = sender_.record(quota_.path, 1);
    run->data = true;
    run->asks = sender_.worth_asking(1040, quota_.last_for_now);
    run->header_bytes = kDataHeaderBytes;
    run->record.step = run->record.last = 1000;
    asked += run->asks ? 1 : 0;
    ++packets;
    sender_.sent(now_, quota_.path);
  }
  EXPECT_GE(asked, 4);
  EXPECT_LE(asked, packets / 50);
}

// The peer acknowledges four long bursts at a time: a window of three would leave and then wait.
TEST_F(SendWindowTest, AWindowOfFewLongBurstsRequestsAnAcknowledgementInItsMiddle) {
  open(1);
  sender_.set_peer_window(180'000);
  EXPECT_FALSE(sender_.worth_asking(60'000, false));
  EXPECT_TRUE(sender_.worth_asking(90'000, false));
  EXPECT_FALSE(sender_.worth_asking(30'000, false)) << "short bursts are acknowledged soon anyway";
  sender_.set_peer_window(500'000);
  EXPECT_FALSE(sender_.worth_asking(60'000, false));
}

TEST_F(SendWindowTest, BytesFitTheWindowOnlyIfThePeersSocketHoldsThem) {
  open(1);
  controller_->window_bytes = 100'000;
  EXPECT_TRUE(sender_.window_holds(100'000, 12));
  EXPECT_FALSE(sender_.window_holds(100'001, 12));
  sender_.set_peer_window(100'000);
  EXPECT_FALSE(sender_.window_holds(100'000, 12))
      << "each datagram takes more there than its bytes";
  EXPECT_TRUE(sender_.window_holds(60'000, 50));
  EXPECT_FALSE(sender_.window_holds(60'000, 100));
}

TEST_F(SendWindowTest, WithAPacingRateTheNextBurstWaits) {
  open(1);
  controller_->rate = {1'000'000'000};
  int bursts = 0;
  while (send()) ASSERT_LT(++bursts, 10);
  EXPECT_GE(bursts, 1);
  EXPECT_GT(sender_.next_timeout(), now_);
  EXPECT_LE(sender_.next_timeout(), now_ + millis(1));
  now_ = sender_.next_timeout();
  EXPECT_TRUE(send());
}

}  // namespace
}  // namespace heddle::transport
