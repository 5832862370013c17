// Which marks, losses and trimmed packets are reported to the congestion controller.
#include "transport/congestion/feedback.h"

#include <gtest/gtest.h>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

class CongestionFeedbackTest : public SendTest {};

TEST_F(CongestionFeedbackTest, EachMarkIsReportedToTheControllerOnce) {
  open(1);
  ASSERT_TRUE(send(4));
  ack(0, {{1, 2}}, 2);
  EXPECT_EQ(controller_->acks.back().marked.count, 2u * SendController::kBaseDatagram);
  ack(0, {{1, 4}}, 2);
  EXPECT_EQ(controller_->acks.back().marked.count, 0u);
}

TEST_F(CongestionFeedbackTest, LossOnOnePathAloneIsReportedAsSuch) {
  open(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(10));
  for (uint16_t id = 1; id < 4; ++id) ack(id, {{1, 10}});
  now_ += millis(1);
  ack(0, {{5, 10}});
  EXPECT_TRUE(controller_->losses.back().others_clean);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(10));
  ack(1, {{15, 20}, {1, 10}});
  EXPECT_FALSE(controller_->losses.back().others_clean);
}

// The queues of a fabric overflow here and there though there is room enough in all.
TEST_F(CongestionFeedbackTest, TrimmingUpToAnEighthOfTheWindowIsNoLossForTheController) {
  open(1);
  controller_->window_bytes = 64 * SendController::kBaseDatagram;
  ASSERT_TRUE(send(64));
  for (uint64_t number = 1; number <= 8; ++number) sender_.on_trimmed(now_, 0, number);
  EXPECT_TRUE(controller_->losses.empty());
  now_ += millis(1);  // another round trip
  for (uint64_t number = 9; number <= 16; ++number) sender_.on_trimmed(now_, 0, number);
  EXPECT_TRUE(controller_->losses.empty());
  sender_.on_trimmed(now_, 0, 17);
  EXPECT_EQ(controller_->losses.size(), 1u);
  EXPECT_FALSE(controller_->losses.back().timeout);
}

}  // namespace
}  // namespace heddle::transport
