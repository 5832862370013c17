// Behavior of grants for remote writes on the sending side: which messages are written remotely,
// and what becomes of a grant whose slot another grant names.
#include <gtest/gtest.h>

#include "transport/messages/outgoing.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kCapacity = 4096;
constexpr uint32_t kLeastWritten = 2048;
constexpr uint32_t kMostWritten = 1u << 26;
constexpr uint32_t kEager = 8192;
constexpr uint32_t kMostPosted = 8;

class PlacedGrantsTest : public ::testing::Test {
 protected:
  PlacedGrantsTest() { out_.set_limits({4, kMostPosted, kEager, 3, kLeastWritten, kMostWritten}); }

  void post(uint64_t length) {
    ASSERT_TRUE(out_.post(0, {{1, 0, length}, ++posted_}, kMostPosted));
  }
  // The receive of message `index` may be written through `slot`, at `offset` of the peer's region.
  void grant(int32_t index, uint8_t slot, uint64_t offset) {
    PlacedGrantFrame frame{0, kFirstSequence.moved_by(index), kCapacity, slot, offset, {}};
    frame.token.length = 8;
    ASSERT_TRUE(out_.on_placed_grant(frame));
  }
  // What leaves next, all of it; no message: nothing.
  Piece take() {
    Piece piece;
    if (!out_.peek(piece)) return {};
    out_.take(piece, piece.length);
    return piece;
  }

  OutPool pool_{1024};
  RetransmissionPool retransmissions_{1024};
  Ring<Completion> completions_;
  Outgoing out_{pool_, retransmissions_, completions_, 7};
  OperationId posted_ = 0;
};

TEST_F(PlacedGrantsTest, AGrantedMessageIsWrittenRemotely) {
  grant(0, 5, 1'000);
  post(4'000);
  const Piece piece = take();
  EXPECT_TRUE(piece.claimable);
  EXPECT_EQ(out_.remote_place(piece.slot).offset, 1'000u);
}

// VOPR, seeds 105373 and 144126: message 0 went ahead of its grant, its receive ended, and its slot
// was given to the receive of message 1. The grant of message 0 was overtaken by that of message 1,
// before message 1 was posted: it was then written into the buffer of the receive that had ended.
TEST_F(PlacedGrantsTest, AnOvertakenGrantOfTheSameSlotIsWrittenByNoMessageThatIsPostedLater) {
  post(4'000);
  ASSERT_FALSE(take().claimable);  // ahead
  grant(1, 5, 1'000);
  grant(0, 5, 0);
  post(4'000);
  const Piece piece = take();
  EXPECT_EQ(piece.sequence, kFirstSequence + 1);
  EXPECT_FALSE(piece.claimable);
}

// Half of it was written when the slot got another meaning: the rest travels as datagrams.
TEST_F(PlacedGrantsTest, ASlotNamedAnewEndsTheWritesOfAMessage) {
  out_.set_limits({4, kMostPosted, kEager, 0, kLeastWritten, kMostWritten});
  grant(1, 5, 1'000);
  post(100);
  post(4'000);
  grant(0, 6, 2'000);
  ASSERT_EQ(take().length, 100u);
  Piece piece;
  ASSERT_TRUE(out_.peek(piece));
  ASSERT_TRUE(piece.claimable);
  out_.take(piece, 2'000);
  grant(2, 5, 3'000);
  piece = take();
  EXPECT_EQ(piece.offset, 2'000u);
  EXPECT_EQ(piece.length, 2'000u);
  EXPECT_FALSE(piece.claimable);
}

// VOPR, seed 174058: an empty message whose slot got another meaning was never sent.
TEST_F(PlacedGrantsTest, AnEmptyMessageWhoseSlotIsNamedAnewIsSent) {
  post(4'000);
  take();
  grant(1, 5, 1'000);
  post(0);
  grant(0, 5, 0);
  const Piece piece = take();
  EXPECT_EQ(piece.sequence, kFirstSequence + 1);
  EXPECT_NE(piece.message, kNoIndex);
}

}  // namespace
}  // namespace heddle::transport
