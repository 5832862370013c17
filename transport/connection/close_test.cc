// Close: when the close frame leaves, which final frames follow, and when nothing is left to do.
#include "transport/connection/close.h"

#include <gtest/gtest.h>

#include "transport/connection/ending.h"

namespace heddle::transport {
namespace {

TEST(ClosePartTest, TheCloseFrameWaitsForEverySend) {
  Close close;
  EXPECT_FALSE(close.frame_due(0));  // not requested
  close.request(seconds(3));
  EXPECT_EQ(close.deadline(), seconds(3));
  EXPECT_FALSE(close.frame_due(1));
  EXPECT_TRUE(close.frame_due(0));
  close.note_frame_sent();
  EXPECT_FALSE(close.frame_due(0));
}

TEST(ClosePartTest, ItIsCompleteWhenEveryFinalFrameHasLeft) {
  Close close;
  EXPECT_TRUE(close.complete());
  close.queue_final_frames(CloseReason::kUnheard, 2);
  EXPECT_EQ(close.final_reason(), CloseReason::kUnheard);
  close.note_final_frame_sent();
  EXPECT_FALSE(close.complete());
  close.note_final_frame_sent();
  EXPECT_TRUE(close.complete());
}

TEST(ClosePartTest, ItIsNotCompleteWhileWritesMayStillLand) {
  Close close;
  close.set_draining(true);
  EXPECT_FALSE(close.complete());
  close.set_draining(false);
  EXPECT_TRUE(close.complete());
}

TEST(ClosePartTest, TheOutcomeIsKeptUntilTheLastReceiveHasEnded) {
  Close close;
  close.end(true, {ErrorCode::kClosed, "connection closed", "by the peer", ""});
  EXPECT_TRUE(close.graceful());
  EXPECT_EQ(close.error_code(), ErrorCode::kClosed);
  EXPECT_EQ(close.take_error().why, "by the peer");
}

TEST(EndingTest, APeerThatMayNotKnowGetsAFinalFrame) {
  EXPECT_EQ(aborted_here().final_frame, CloseReason::kAborted);
  EXPECT_EQ(protocol_violated("it").final_frame, CloseReason::kProtocolError);
  EXPECT_EQ(closed_by_peer(CloseReason::kGraceful).final_frame, CloseReason::kFinished);
  EXPECT_GT(peer_died("silent").final_packets, 1);  // one of its paths may still work
}

TEST(EndingTest, APeerThatKnowsGetsNoFinalFrame) {
  EXPECT_FALSE(closed_by_peer(CloseReason::kFinished).final_frame);
  EXPECT_FALSE(closed_by_peer(CloseReason::kAborted).final_frame);
  EXPECT_FALSE(closed_by_peer(CloseReason::kUnheard).final_frame);
  EXPECT_FALSE(closed_gracefully().final_frame);
  EXPECT_FALSE(reset_by_peer().final_frame);
}

}  // namespace
}  // namespace heddle::transport
