// Behaviour of the messages that a side sends: what waits for a grant, in which order they leave
// and end, what losses, cancels and short receives do to them.
#include "transport/messages/outgoing.h"

#include <gtest/gtest.h>

#include <vector>

#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kEager = 1000;
constexpr uint16_t kEagerBlocks = 3;
constexpr uint32_t kMaxPosted = 8;
constexpr Sequence kFirst = kFirstSequence;

class OutgoingTest : public ::testing::Test {
 protected:
  OutgoingTest() { out_.set_limits({4, kMaxPosted, kEager, kEagerBlocks}); }

  void post(uint64_t length, OperationId operation, ChannelId channel = 0) {
    ASSERT_TRUE(out_.post(channel, {{1, 0, length}, operation}, kMaxPosted));
  }
  bool grant(uint32_t index, uint16_t count = 1, uint32_t capacity = 1 << 20,
             ChannelId channel = 0) {
    return out_.on_grant({channel, kFirst.moved_by(static_cast<int32_t>(index)), count, capacity});
  }
  // Takes at most `bytes` of the next piece and gives what was taken; length 0 and no message:
  // none.
  Piece take(uint32_t bytes = UINT32_MAX) {
    Piece piece;
    if (!out_.peek(piece)) return {};
    piece.length = std::min(piece.length, bytes);
    out_.take(piece, piece.length);
    return piece;
  }
  static DataRecord record(const Piece& piece) {
    DataRecord sent;
    sent.message = piece.message;
    sent.channel = piece.channel;
    sent.sequence = piece.sequence;
    return sent;
  }
  void ack(const Piece& piece) {
    out_.on_acked(record(piece), piece.offset, piece.offset + piece.length);
  }
  void lose(const Piece& piece, uint64_t sent_as = 1) {
    out_.on_lost(record(piece), piece.offset, piece.offset + piece.length, sent_as);
  }
  uint32_t retransmitted(const Piece& piece, uint64_t sent_as) {
    return out_.retransmitted(record(piece), piece.offset, piece.offset + piece.length, sent_as);
  }
  std::vector<OperationId> ended() {
    std::vector<OperationId> operations;
    while (!completions_.empty()) {
      last_ = completions_.pop_front();
      operations.push_back(last_.operation);
    }
    return operations;
  }
  using Operations = std::vector<OperationId>;

  OutPool pool_{1024};
  RetransmissionPool retransmissions_{1024};
  Ring<Completion> completions_;
  Outgoing out_{pool_, retransmissions_, completions_, 7};
  Completion last_;
};

TEST_F(OutgoingTest, ALargeMessageWaitsForItsGrant) {
  post(kEager + 1, 1);
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(0));
  const Piece piece = take();
  EXPECT_EQ(piece.length, kEager + 1);
  EXPECT_EQ(piece.sequence, kFirst);
  EXPECT_EQ(piece.message_bytes, kEager + 1);
  EXPECT_FALSE(piece.retransmission);
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, AGrantMayComeBeforeItsMessage) {
  ASSERT_TRUE(grant(0));
  post(5000, 1);
  EXPECT_EQ(take().length, 5000u);
}

TEST_F(OutgoingTest, ItEndsWhenEveryByteIsAcknowledged) {
  post(3000, 1);
  ASSERT_TRUE(grant(0));
  const Piece first = take(1000);
  const Piece second = take(1000);
  const Piece third = take(1000);
  EXPECT_EQ(third.offset, 2000u);
  ack(third);
  ack(first);
  ack(first);
  EXPECT_TRUE(ended().empty());
  ack(second);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_TRUE(last_.ok);
  EXPECT_EQ(last_.bytes, 3000u);
  EXPECT_EQ(last_.connection, 7u);
  EXPECT_EQ(out_.acked_bytes(), 3000u);
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(OutgoingTest, MessagesEndInPostedOrder) {
  post(2000, 1);
  post(2000, 2);
  ASSERT_TRUE(grant(0, 2));
  const Piece first = take();
  const Piece second = take();
  ack(second);
  EXPECT_TRUE(ended().empty());
  ack(first);
  EXPECT_EQ(ended(), (Operations{1, 2}));
}

TEST_F(OutgoingTest, SmallOnesTravelAheadAsFarAsThePeerHasBlocks) {
  for (OperationId i = 0; i < kEagerBlocks + 2u; ++i) post(kEager, i);
  for (int i = 0; i < kEagerBlocks; ++i) EXPECT_EQ(take().length, kEager);
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, AGrantGivesTheBlockBack) {
  for (OperationId i = 0; i < kEagerBlocks + 1u; ++i) post(kEager, i);
  for (int i = 0; i < kEagerBlocks; ++i) take();
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(take().sequence, kFirst + kEagerBlocks);
}

TEST_F(OutgoingTest, AGrantOnOneChannelLetsAnotherGoAhead) {
  for (OperationId i = 0; i < kEagerBlocks; ++i) post(kEager, i);
  for (int i = 0; i < kEagerBlocks; ++i) take();
  post(kEager, 50, 2);
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(take().channel, 2);
}

TEST_F(OutgoingTest, OneThatWentAheadEndsOnlyWithItsGrant) {
  post(500, 1);
  ack(take());
  EXPECT_TRUE(ended().empty());
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(ended(), Operations{1});
  // Its block is free again: all blocks can be used.
  for (OperationId i = 2; i < 2 + kEagerBlocks; ++i) post(kEager, i);
  for (int i = 0; i < kEagerBlocks; ++i) EXPECT_NE(take().message, kNoIndex);
}

TEST_F(OutgoingTest, AnEmptyMessageIsSentAndAcknowledgedLikeAnother) {
  post(0, 1);
  const Piece piece = take();
  ASSERT_NE(piece.message, kNoIndex);
  EXPECT_EQ(piece.length, 0u);
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(0));
  EXPECT_TRUE(ended().empty());
  ack(piece);
  EXPECT_EQ(ended(), Operations{1});
}

TEST_F(OutgoingTest, AnEmptyMessageThatIsLostIsRepeated) {
  post(0, 1);
  ASSERT_TRUE(grant(0));
  lose(take());
  const Piece again = take();
  EXPECT_TRUE(again.retransmission);
  EXPECT_EQ(again.length, 0u);
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, ChannelsTakeTurnsByMessage) {
  for (OperationId i = 0; i < 4; ++i) post(2000, i, static_cast<ChannelId>(i % 2));
  ASSERT_TRUE(grant(0, 2, 1 << 20, 0));
  ASSERT_TRUE(grant(0, 2, 1 << 20, 1));
  std::vector<ChannelId> order;
  for (int i = 0; i < 4; ++i) order.push_back(take().channel);
  EXPECT_NE(order[0], order[1]);
  EXPECT_EQ(order[0], order[2]);
  EXPECT_EQ(order[1], order[3]);
}

TEST_F(OutgoingTest, LostBytesAreRepeatedFirst) {
  post(4000, 1);
  post(4000, 2);
  ASSERT_TRUE(grant(0, 2));
  take(1000);
  lose(take(1000));
  const Piece piece = take();
  EXPECT_TRUE(piece.retransmission);
  EXPECT_EQ(piece.offset, 1000u);
  EXPECT_EQ(piece.length, 1000u);
  EXPECT_FALSE(take().retransmission);
}

// VOPR, seed 737 of its first options: eager memory that several senders share was full, what was
// refused was repeated at once and for ever, and filled the window that granted messages needed.
TEST_F(OutgoingTest, ALostEagerMessageIsRetransmittedOnlyAfterItsGrant) {
  post(900, 1);
  post(5000, 2, 1);
  const Piece first = take(400);
  const Piece second = take(500);
  lose(first);
  lose(second);
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(0, 1, 5000, 1));
  EXPECT_EQ(take().channel, 1);
  ASSERT_TRUE(grant(0));
  const Piece again = take();
  EXPECT_TRUE(again.retransmission);
  EXPECT_EQ(again.offset, 0u);
  EXPECT_EQ(again.length, 900u);
  ack(again);
  EXPECT_EQ(ended().front(), 1u);
}

TEST_F(OutgoingTest, BytesAcknowledgedAfterTheirLossAreNotRetransmitted) {
  post(4000, 1);
  ASSERT_TRUE(grant(0));
  const Piece whole = take();
  lose(whole);
  DataRecord sent = record(whole);
  out_.on_acked(sent, 1000, 2000);
  EXPECT_EQ(take(1000).offset, 0u);
  const Piece rest = take();
  EXPECT_EQ(rest.offset, 2000u);
  EXPECT_EQ(rest.length, 2000u);
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, LossOfAMessageThatIsOverIsForgotten) {
  post(2000, 1);
  ASSERT_TRUE(grant(0));
  const Piece piece = take();
  ack(piece);
  lose(piece);
  EXPECT_EQ(take().message, kNoIndex);
  // Its slot belongs to another message now, which an old acknowledgement must not touch.
  post(2000, 2);
  ASSERT_TRUE(grant(1));
  take();
  ack(piece);
  EXPECT_EQ(ended(), Operations{1});
}

TEST_F(OutgoingTest, GrantsMayComeInAnyOrderAndAgain) {
  for (OperationId i = 0; i < 4; ++i) post(2000, i);
  ASSERT_TRUE(grant(2));
  ASSERT_TRUE(grant(0));
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(take().sequence, kFirst);
  EXPECT_EQ(take().message, kNoIndex);  // the second waits, and so does the third
  ASSERT_TRUE(grant(0, 4));
  for (uint32_t i = 1; i < 4; ++i) EXPECT_EQ(take().sequence, kFirst + i);
}

TEST_F(OutgoingTest, AnOldGrantIsNoMistake) {
  post(2000, 1);
  ASSERT_TRUE(grant(0));
  ack(take());
  EXPECT_TRUE(grant(0));
}

TEST_F(OutgoingTest, GrantsBeyondWhatWasAgreedAreRefused) {
  EXPECT_TRUE(grant(kMaxPosted - 1));
  EXPECT_FALSE(grant(kMaxPosted));
  EXPECT_FALSE(grant(0, UINT16_MAX));
  EXPECT_FALSE(grant(0, 1, 1, 4));  // no such channel
  EXPECT_LT(out_.bytes_held(), 4096u);
}

// The receiver's oldest receive may be newer than the sender's oldest message, by what is not
// acknowledged yet.
TEST_F(OutgoingTest, GrantsMayRunAheadOfWhatIsNotAcknowledged) {
  for (OperationId i = 0; i < kMaxPosted; ++i) post(10, i);
  ASSERT_TRUE(grant(0, kMaxPosted));
  for (uint32_t i = 0; i < kMaxPosted; ++i) take();
  EXPECT_TRUE(grant(kMaxPosted, kMaxPosted));
}

TEST_F(OutgoingTest, PostsBeyondTheBoundAreRefusedUntilSomethingEnds) {
  for (OperationId i = 0; i < kMaxPosted; ++i) post(10, i);
  const Result<void> refused = out_.post(0, {{1, 0, 10}, 99}, kMaxPosted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  ASSERT_TRUE(grant(0));
  ack(take());
  EXPECT_TRUE(out_.post(0, {{1, 0, 10}, 99}, kMaxPosted));
}

TEST_F(OutgoingTest, ImpossibleChannelsAndSizesAreRefused) {
  EXPECT_EQ(out_.post(4, {{1, 0, 10}, 1}, 8).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(out_.post(0, {{1, 0, kMaxMessageBytes + 1}, 1}, 8).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(out_.post(0, {{1, 0, kMaxMessageBytes}, 1}, 8));
}

TEST_F(OutgoingTest, GrantsAreBoundedOverAllChannels) {
  EXPECT_TRUE(grant(0, 5, 10, 0));
  EXPECT_TRUE(grant(0, kMaxPosted - 5, 10, 1));
  EXPECT_FALSE(grant(0, 1, 10, 2));
  post(10, 1);  // what a message meets counts no more
  EXPECT_TRUE(grant(0, 1, 10, 2));
  EXPECT_FALSE(grant(1, 1, 10, 2));
}

TEST_F(OutgoingTest, WithdrawnMessagesRunAheadOfTheirReceivesOnlySoFar) {
  ControlRecord frame;
  for (uint32_t i = 0; i < kMaxPosted; ++i) {
    post(10, i);
    ASSERT_TRUE(out_.cancel(0, i, frame));
  }
  EXPECT_EQ(out_.post(0, {{1, 0, 10}, 99}, kMaxPosted).error().code, ErrorCode::kExhausted);
  ASSERT_TRUE(grant(0));
  EXPECT_TRUE(out_.post(0, {{1, 0, 10}, 99}, kMaxPosted));
}

TEST_F(OutgoingTest, MessagesPostedBeforeThePeerSaidThatItHasNoSuchChannelEnd) {
  Outgoing early(pool_, retransmissions_, completions_, 8);
  ASSERT_TRUE(early.post(0, {{1, 0, 10}, 1}, 8));
  ASSERT_TRUE(early.post(5, {{1, 0, 10}, 2}, 8));
  early.set_limits({4, kMaxPosted, kEager, kEagerBlocks});
  EXPECT_EQ(ended(), Operations{2});
  EXPECT_EQ(last_.error, ErrorCode::kInvalid);
  Piece piece;
  ASSERT_TRUE(early.peek(piece));
  EXPECT_EQ(piece.channel, 0);
}

TEST_F(OutgoingTest, AReceiveTooShortEndsTheMessageAndTellsThePeer) {
  post(5000, 1);
  post(5000, 2);
  ASSERT_TRUE(grant(0, 1, 4999));
  ASSERT_TRUE(grant(1, 1, 5000));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kTruncated);
  ControlRecord frame;
  ASSERT_TRUE(out_.poll_truncated(frame));
  EXPECT_EQ(frame.type, FrameType::kCancelSend);
  EXPECT_EQ(frame.reason, static_cast<uint8_t>(CancelReason::kTruncated));
  EXPECT_EQ(frame.sequence, kFirst);
  EXPECT_FALSE(out_.poll_truncated(frame));
  EXPECT_EQ(take().sequence, kFirst + 1);
}

TEST_F(OutgoingTest, OneThatWentAheadOfAReceiveTooShortEndsTruncated) {
  post(500, 1);
  ack(take());
  ASSERT_TRUE(grant(0, 1, 499));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kTruncated);
}

// VOPR, seed 32 of its first options: withdrawals of messages far beyond a peer's few receives were
// sent; the peer could not store them and never processed the frames behind them.
TEST_F(OutgoingTest, ThePeerHearsNothingOfWithdrawnMessagesBeyondItsReceives) {
  for (OperationId operation = 1; operation <= kMaxPosted; ++operation) post(5000, operation);
  ControlRecord frame;
  for (OperationId operation = kMaxPosted; operation > 0; --operation) {
    ASSERT_TRUE(out_.cancel(0, operation, frame));
    EXPECT_NE(frame.type, FrameType::kCancelSend);
  }
  EXPECT_EQ(ended().size(), kMaxPosted);
  ASSERT_TRUE(grant(0, 3));
  for (uint32_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(out_.poll_truncated(frame));
    EXPECT_EQ(frame.sequence, kFirst + index);
  }
  EXPECT_FALSE(out_.poll_truncated(frame));
}

TEST_F(OutgoingTest, CancellingWhatWaitsEndsItAtOnceAndThePeerHearsWhenItsReceiveIsPosted) {
  post(5000, 1);
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 1, frame));
  EXPECT_EQ(frame.type, FrameType::kPing) << "the peer has nothing that this concerns";
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
  EXPECT_FALSE(out_.poll_truncated(frame));
  // The receive that it would have met belongs to it all the same.
  ASSERT_TRUE(grant(0));
  ASSERT_TRUE(out_.poll_truncated(frame));
  EXPECT_EQ(frame.type, FrameType::kCancelSend);
  EXPECT_EQ(frame.reason, static_cast<uint8_t>(CancelReason::kCancelled));
  EXPECT_EQ(frame.sequence, kFirst);
  ASSERT_TRUE(grant(0)) << "a repeated grant says nothing new";
  EXPECT_FALSE(out_.poll_truncated(frame));
  post(5000, 2);
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(1));
  EXPECT_EQ(take().sequence, kFirst + 1);
}

// A grant of receives that are over was walked through one by one: a packet full of them took 114
// ms.
TEST_F(OutgoingTest, AGrantThatReachesFarBackGrantsWhatIsNew) {
  post(5000, 1);
  ASSERT_TRUE(grant(0 - 65'534u, UINT16_MAX));  // up to the first, and that with it
  EXPECT_EQ(take().sequence, kFirst);
  EXPECT_TRUE(grant(0 - 65'535u, UINT16_MAX));
  EXPECT_FALSE(grant(1, UINT16_MAX));
  post(5000, 2);
  EXPECT_EQ(take().message, kNoIndex) << "of a grant too far ahead nothing is taken";
}

TEST_F(OutgoingTest, APacketGrantsReceivesAgainOnlySoOften) {
  post(5000, 1);
  const auto once = [this] { return grant(0, kMaxPosted + 1); };
  out_.begin_packet();
  ASSERT_TRUE(once());
  ASSERT_TRUE(once()) << "each of them may have been lost and be told again";
  EXPECT_FALSE(once());
  EXPECT_FALSE(grant(0));
  out_.begin_packet();
  EXPECT_TRUE(once());
}

TEST_F(OutgoingTest, CancellingOneBehindAnotherEndsInOrder) {
  post(5000, 1);
  post(5000, 2);
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 2, frame));
  EXPECT_TRUE(ended().empty());
  ASSERT_TRUE(grant(0, 2));
  ack(take());
  EXPECT_EQ(ended(), (Operations{1, 2}));
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, CancellingWhatHasArrivedIsTooLate) {
  post(500, 1);
  ack(take());
  ControlRecord frame;
  EXPECT_TRUE(out_.cancel(0, 1, frame));
  EXPECT_NE(frame.type, FrameType::kCancelSend);
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_TRUE(last_.ok);
}

TEST_F(OutgoingTest, CancellingAnUnknownSendReturnsFalse) {
  ControlRecord frame;
  EXPECT_FALSE(out_.cancel(0, 1, frame));
  EXPECT_FALSE(out_.cancel(3, 1, frame));
  post(5000, 1);
  ASSERT_TRUE(out_.cancel(0, 1, frame));
  EXPECT_FALSE(out_.cancel(0, 1, frame));
}

// The peer remembers it, as it does those that wait, until its receive is posted. It used to give
// its block back at once; then one that sent small messages and withdrew them was refused.
TEST_F(OutgoingTest, AWithdrawnMessageKeepsItsBlockUntilItsReceiveIsPosted) {
  for (OperationId i = 0; i < kEagerBlocks + 1u; ++i) post(kEager, i);
  for (int i = 0; i < kEagerBlocks; ++i) take();
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 0, frame));
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst, CancelReason::kCancelled}));
  EXPECT_EQ(ended(), Operations{0});
  EXPECT_EQ(take().message, kNoIndex);
  ASSERT_TRUE(grant(0));
  EXPECT_EQ(take().sequence, kFirst + kEagerBlocks);
}

TEST_F(OutgoingTest, OneWithdrawnBeforeItLeftGivesItsBlockBackAtOnce) {
  for (OperationId i = 0; i < kEagerBlocks + 1u; ++i) post(kEager, i);
  Piece piece;
  ASSERT_TRUE(out_.peek(piece));  // it was about to leave
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 0, frame));
  for (int i = 0; i < kEagerBlocks; ++i) EXPECT_NE(take().message, kNoIndex);
  ASSERT_TRUE(grant(0));
  ASSERT_TRUE(out_.poll_truncated(frame));
  EXPECT_EQ(frame.sequence, kFirst);
}

TEST_F(OutgoingTest, CancellingWhatIsUnderWayEndsAsThePeerAnswers) {
  post(5000, 1);
  post(5000, 2);
  ASSERT_TRUE(grant(0, 2));
  take(1000);
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 1, frame));
  EXPECT_TRUE(ended().empty());
  ASSERT_TRUE(out_.on_delivered({0, kFirst, CancelReason::kCancelled}));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_TRUE(last_.ok);
  take(1000);
  ASSERT_TRUE(out_.cancel(0, 2, frame));
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst + 1, CancelReason::kCancelled}));
  EXPECT_EQ(ended(), Operations{2});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
}

// The count of acknowledged bytes went one below, to the end of 64 bits.
TEST_F(OutgoingTest, AnEmptyMessageAcknowledgedAndThenDeliveredCountsNoBytes) {
  post(0, 1);
  const Piece piece = take();
  ControlRecord frame;
  ASSERT_TRUE(out_.cancel(0, 1, frame));
  ack(piece);
  ASSERT_TRUE(out_.on_delivered({0, kFirst, CancelReason::kCancelled}));
  EXPECT_EQ(out_.acked_bytes(), 0u);
}

TEST_F(OutgoingTest, AWithdrawnReceiveEndsItsMessage) {
  post(5000, 1);
  post(5000, 2);
  ASSERT_TRUE(grant(0, 2));
  take(1000);
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst, CancelReason::kCancelled}));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
  EXPECT_EQ(take().sequence, kFirst + 1);
}

// VOPR, seed 120 of its first options: the peer counted withdrawn receives forever when nothing of
// their messages arrived, and posted no more.
TEST_F(OutgoingTest, AWithdrawnReceiveIsAnsweredByTheEndOfItsMessage) {
  post(5000, 1);
  ASSERT_TRUE(grant(0));
  ControlRecord frame;
  ASSERT_FALSE(out_.poll_truncated(frame));
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst, CancelReason::kCancelled}));
  ASSERT_TRUE(out_.poll_truncated(frame));
  EXPECT_EQ(frame.type, FrameType::kCancelSend);
  EXPECT_EQ(frame.sequence, kFirst);
  post(5000, 2);
  ASSERT_TRUE(out_.cancel(0, 2, frame));  // withdrawn on both sides, and neither knows yet
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst + 1, CancelReason::kCancelled}));
  ASSERT_TRUE(grant(1));
  ASSERT_TRUE(out_.poll_truncated(frame));
  EXPECT_EQ(frame.sequence, kFirst + 1);
  EXPECT_FALSE(out_.poll_truncated(frame));
}

TEST_F(OutgoingTest, AReceiveWithdrawnBeforeItsMessageEndsIt) {
  ASSERT_TRUE(out_.on_cancel_receive({0, kFirst, CancelReason::kCancelled}));
  post(5000, 1);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_FALSE(last_.ok);
}

TEST_F(OutgoingTest, AWithdrawalOfSomethingOverOrImpossibleIsJudged) {
  post(10, 1);
  ASSERT_TRUE(grant(0));
  ack(take());
  EXPECT_TRUE(out_.on_cancel_receive({0, kFirst, CancelReason::kCancelled}));
  EXPECT_FALSE(out_.on_cancel_receive({9, kFirst, CancelReason::kCancelled}));
  EXPECT_FALSE(out_.on_cancel_receive({0, kFirst + 1000, CancelReason::kCancelled}));
}

TEST_F(OutgoingTest, TheEndOfAConnectionEndsEverything) {
  post(500, 1);
  post(5000, 2);
  post(5000, 3, 2);
  lose(take());
  out_.fail_all(ErrorCode::kPeerDead);
  EXPECT_EQ(ended(), (Operations{1, 2, 3}));
  EXPECT_EQ(last_.error, ErrorCode::kPeerDead);
  EXPECT_EQ(out_.posted(), 0u);
  EXPECT_EQ(pool_.lent(), 0u);
  EXPECT_EQ(take().message, kNoIndex);
}

TEST_F(OutgoingTest, SequencesWrap) {
  const uint32_t messages = 3 * (0 - kFirst.value());
  for (uint32_t i = 0; i < messages; ++i) {
    ASSERT_TRUE(grant(i));
    post(2000, i);
    const Piece piece = take();
    ASSERT_EQ(piece.sequence, kFirst + i);
    ack(piece);
    ASSERT_EQ(ended(), Operations{i});
  }
  EXPECT_GT(messages, 0 - kFirst.value());
}

TEST_F(OutgoingTest, InTheSteadyStateNothingGrows) {
  const auto exchange = [this](uint32_t i) {
    post(2000, i);
    ASSERT_TRUE(grant(i));
    lose(take(1000));
    ack(take());
    ack(take());
    ended();
  };
  for (uint32_t i = 0; i < 50; ++i) exchange(i);
  const size_t held = out_.bytes_held() + pool_.bytes_held();
  for (uint32_t i = 50; i < 1000; ++i) exchange(i);
  EXPECT_EQ(out_.bytes_held() + pool_.bytes_held(), held);
}

TEST_F(OutgoingTest, ReportsWhichSegmentsOfALostBurstWereRetransmitted) {
  post(5000, 1);
  ASSERT_TRUE(grant(0));
  const Piece whole = take();
  lose(whole, 7);
  EXPECT_EQ(retransmitted(whole, 7), 0u);
  const Piece part = take(2000);
  EXPECT_TRUE(part.retransmission);
  EXPECT_EQ(retransmitted(whole, 7), 2000u);
  lose(part, 8);  // the repeat is lost as well: that is another transmission
  EXPECT_EQ(retransmitted(part, 8), 0u);
  EXPECT_EQ(retransmitted(whole, 7), 2000u);
  while (take().length > 0) {
  }
  EXPECT_EQ(retransmitted(part, 8), 2000u);
  EXPECT_EQ(retransmitted(whole, 7), 5000u);
}

}  // namespace
}  // namespace heddle::transport
