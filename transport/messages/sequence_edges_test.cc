// Sequence numbers half the circle away from what is in use. A grant there once made a ring of two
// thousand million entries, from one packet of 39 bytes.
#include <gtest/gtest.h>

#include <array>

#include "transport/messages/incoming.h"
#include "transport/messages/outgoing.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kMaxPosted = 8;
constexpr uint32_t kHalf = 0x80000000;

class SequenceEdges : public ::testing::Test {
 protected:
  SequenceEdges() { out_.set_limits({4, kMaxPosted, 1000, 3, 2048, 1u << 26}); }

  // The number `index` behind the oldest message or receive of channel 0.
  Sequence at(int64_t index) const {
    return Sequence(static_cast<uint32_t>(head_.value() + index));
  }
  bool grant(int64_t index, uint16_t count) { return out_.on_grant({0, at(index), count, 1}); }
  bool placed_grant(int64_t index) { return out_.on_placed_grant({0, at(index), 1, 0, 0, {}}); }
  bool cancel_receive(int64_t index) {
    return out_.on_cancel_receive({0, at(index), CancelReason::kCancelled});
  }
  bool delivered(int64_t index) {
    return out_.on_delivered({0, at(index), CancelReason::kCancelled});
  }
  bool cancel_send(int64_t index) {
    return in_.on_cancel_send({0, at(index), CancelReason::kCancelled}, frames_);
  }
  BurstVerdict data(int64_t index) {
    run_.segments = 1;
    run_.segment_bytes = run_.last_segment_bytes = kDataHeaderBytes + 1;
    run_.frame = frame_.data();
    DataBurst burst;
    burst.header.sequence = at(index);
    burst.header.message_bytes = burst.step = burst.last = burst.segments = 1;
    burst.run = &run_;
    return in_.accept(burst);
  }
  // Exchanges `messages` messages in each direction.
  void exchange(uint32_t messages) {
    for (; messages > 0; --messages) {
      ASSERT_TRUE(grant(0, 1));
      ASSERT_TRUE(out_.post(0, {{1, 0, 1}, 1}, kMaxPosted));
      Piece piece;
      ASSERT_TRUE(out_.peek(piece));
      out_.take(piece, piece.length);
      DataRecord sent;
      sent.message = piece.message;
      sent.sequence = piece.sequence;
      out_.on_acked(sent, 0, 1);
      ASSERT_TRUE(in_.post(0, {{1, 0, 100}, 1}, frames_));
      ASSERT_TRUE(data(0).acknowledge);
      ++head_;
    }
    frames_.clear();
  }

  OutPool out_pool_{64};
  InPool in_pool_{64};
  RetransmissionPool retransmissions_{64};
  EagerBlocks eager_{2, Bytes{4096}, 1000};
  Ring<Completion> completions_;
  Ring<ControlRecord> frames_;
  std::vector<Placement> placements_;
  Outgoing out_{out_pool_, retransmissions_, completions_, 7};
  Incoming in_{{in_pool_, eager_, completions_, placements_}, 7, {4, kMaxPosted, 4}};
  RxRun run_;
  std::array<std::byte, kDataHeaderBytes + 1> frame_{};
  Sequence head_ = kFirstSequence;
};

TEST_F(SequenceEdges, AGrantHalfTheCircleAheadMakesNoRing) {
  const size_t held = out_.bytes_held();
  for (const uint32_t messages : {0u, 1u, 100u}) {
    exchange(messages);
    for (const int64_t index : {int64_t{kHalf} - 1, int64_t{kHalf}, int64_t{kMaxPosted}}) {
      EXPECT_FALSE(grant(index, 1)) << index;
      EXPECT_FALSE(placed_grant(index)) << index;
      EXPECT_FALSE(cancel_receive(index)) << index;
    }
    EXPECT_FALSE(grant(int64_t{kHalf} - 65535, UINT16_MAX)) << "its end is beyond the half";
    EXPECT_FALSE(grant(1, UINT16_MAX)) << "its end is too far ahead";
    EXPECT_FALSE(delivered(kHalf));
  }
  EXPECT_LE(out_.bytes_held(), held + 4096);
}

// A repeated grant may lie far behind; what it says of receives is old.
TEST_F(SequenceEdges, FramesOfAnyEarlierSequenceChangeNothing) {
  exchange(3);
  for (const int64_t index : {int64_t{-1}, int64_t{-3}, 1 - int64_t{kHalf}}) {
    EXPECT_TRUE(grant(index, 1)) << index;
    EXPECT_TRUE(placed_grant(index)) << index;
    EXPECT_TRUE(cancel_receive(index)) << index;
    EXPECT_TRUE(delivered(index)) << index;
    EXPECT_EQ(data(index).drop, events::DropReason::kStaleMessage) << index;
    EXPECT_TRUE(cancel_send(index)) << index;
  }
  // And moved nothing: the next message still waits for its grant.
  ASSERT_TRUE(out_.post(0, {{1, 0, 5000}, 1}, kMaxPosted));
  Piece piece;
  EXPECT_FALSE(out_.peek(piece));
  EXPECT_FALSE(in_.heard_of_next(0));
}

TEST_F(SequenceEdges, DataHalfTheCircleAheadIsDroppedAndMovesNothing) {
  exchange(5);
  for (const int64_t index : {int64_t{kHalf} - 1, int64_t{kHalf}, int64_t{kMaxPosted}}) {
    EXPECT_EQ(data(index).drop, events::DropReason::kOverWindow) << index;
    EXPECT_FALSE(data(index).acknowledge) << index;
    EXPECT_FALSE(cancel_send(index)) << index;
    EXPECT_FALSE(in_.heard_of_next(0)) << index;
  }
  exchange(5);
}

// A grant that the peer never acknowledges is retransmitted any number of messages later: once that
// was half of the sequence space, the process failed a CHECK.
TEST_F(SequenceEdges, AGrantThatIsToldAgainHalfTheCircleLaterIsOver) {
  const TokenTable tokens{{1, MemoryToken{.length = 1}}};
  Fences fences;
  fences.open(1);
  in_.open_placed(tokens, fences);
  exchange(3);
  PlacedGrantFrame told;
  for (const int64_t index : {int64_t{-1}, int64_t{kHalf}, 1 - int64_t{kHalf}}) {
    EXPECT_FALSE(in_.describe(0, at(index), told)) << index;
  }
  ASSERT_TRUE(in_.post(0, {{1, 0, 100}, 1}, frames_));
  EXPECT_TRUE(in_.describe(0, at(0), told));
}

// Messages over before their grants keep the newest grant known behind the oldest message: a grant
// almost half the circle behind must not look like one ahead of it.
TEST_F(SequenceEdges, AGrantFarBehindFreesNothingThatWasSentAhead) {
  ControlRecord record;
  for (OperationId i = 0; i < 3; ++i) {
    ASSERT_TRUE(out_.post(0, {{1, 0, 10}, i}, kMaxPosted));
    Piece piece;
    ASSERT_TRUE(out_.peek(piece)) << "an eager block of the peer is free";
    ASSERT_TRUE(out_.cancel(0, i, record));  // it goes ahead no more, and its receive is unknown
    ++head_;
  }
  EXPECT_TRUE(grant(2 - int64_t{kHalf}, 1));
  EXPECT_TRUE(grant(1 - int64_t{kHalf}, 1));
  EXPECT_FALSE(out_.poll_truncated(record)) << "the peer has posted none of them";
  EXPECT_TRUE(grant(-3, 3));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(out_.poll_truncated(record));
}

}  // namespace
}  // namespace heddle::transport
