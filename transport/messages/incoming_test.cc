// Behaviour of the messages that a side receives: where payload goes, what waits in eager memory,
// what is refused, in which order receives end, and what withdrawals do.
#include "transport/messages/incoming.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "base/random.h"

namespace heddle::transport {
namespace {

using events::DropReason;
using Operations = std::vector<OperationId>;

constexpr uint32_t kBlock = 1000;
constexpr uint32_t kBlocks = 3;  // of this connection; the endpoint has four
constexpr uint32_t kMaxPosted = 8;
constexpr RegionId kEagerRegion = 5;
constexpr RegionId kMemory = 9;

class IncomingTest : public ::testing::Test {
 protected:
  void post(uint64_t offset, uint64_t length, OperationId operation, ChannelId channel = 0) {
    ASSERT_TRUE(in_.post(channel, {{kMemory, offset, length}, operation}, frames_));
  }

  // Segments of `step` bytes each, the last of `last`, of the message `index`.
  BurstVerdict burst(uint32_t index, uint32_t message_bytes, uint32_t offset, uint32_t segments,
                     uint32_t step, uint32_t last, ChannelId channel = 0) {
    run_.segments = segments;
    run_.segment_bytes = kDataHeaderBytes + step;
    run_.last_segment_bytes = kDataHeaderBytes + last;
    run_.frame = frame_.data();
    DataBurst burst;
    burst.header.channel = channel;
    burst.header.sequence = kFirstSequence + index;
    burst.header.offset = offset;
    burst.header.message_bytes = message_bytes;
    burst.segments = segments;
    burst.step = segments > 1 ? step : last;
    burst.last = last;
    burst.run = &run_;
    return in_.accept(burst);
  }
  BurstVerdict whole(uint32_t index, uint32_t bytes, ChannelId channel = 0) {
    return burst(index, bytes, 0, 1, bytes, bytes, channel);
  }
  Operations ended() {
    Operations operations;
    while (!completions_.empty()) {
      last_ = completions_.pop_front();
      operations.push_back(last_.operation);
    }
    return operations;
  }
  std::vector<Placement> placed() { return std::exchange(placements_, {}); }

  InPool pool_{1024};
  EagerBlocks eager_{kEagerRegion, Bytes{4 * kBlock}, kBlock};
  Ring<Completion> completions_;
  std::vector<Placement> placements_;
  Ring<ControlRecord> frames_;
  Incoming in_{{pool_, eager_, completions_, placements_}, 7, {4, kMaxPosted, kBlocks}};
  RxRun run_;
  std::array<std::byte, 65536> frame_{};
  Completion last_;
};

TEST_F(IncomingTest, PostingGrants) {
  post(0, 4000, 1);
  ASSERT_EQ(frames_.size(), 1u);
  EXPECT_EQ(frames_[0].type, FrameType::kGrant);
  EXPECT_EQ(frames_[0].sequence, kFirstSequence);
  EXPECT_EQ(frames_[0].count, 1);
  EXPECT_EQ(frames_[0].capacity, 4000u);
}

TEST_F(IncomingTest, EqualReceivesOfAChannelShareAGrant) {
  post(0, 4000, 1);
  post(4000, 4000, 2);
  post(8000, 4000, 3, 1);
  post(9000, 4000, 4, 1);
  post(9000, 10, 5, 1);
  ASSERT_EQ(frames_.size(), 3u);
  EXPECT_EQ(frames_[0].count, 2);
  EXPECT_EQ(frames_[1].count, 2);
  EXPECT_EQ(frames_[1].channel, 1);
  EXPECT_EQ(frames_[2].count, 1);
}

TEST_F(IncomingTest, PayloadGoesToItsPlaceInTheBuffer) {
  post(500, 4000, 1);
  EXPECT_TRUE(burst(0, 3500, 1000, 3, 1000, 500).acknowledge);
  const std::vector<Placement> places = placed();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].payload_at, PayloadAt::kFrame);
  EXPECT_EQ(places[0].source, frame_.data() + kDataHeaderBytes);
  EXPECT_EQ(places[0].source_step, 1000 + kDataHeaderBytes);
  EXPECT_EQ(places[0].segments, 3u);
  EXPECT_EQ(places[0].bytes, 1000u);
  EXPECT_EQ(places[0].last_bytes, 500u);
  EXPECT_EQ(places[0].to_region, kMemory);
  EXPECT_EQ(places[0].to_offset, 1500u);
}

TEST_F(IncomingTest, AMessageEndsWithItsLastByte) {
  post(0, 4000, 1);
  burst(0, 3500, 1000, 3, 1000, 500);
  EXPECT_TRUE(ended().empty());
  burst(0, 3500, 0, 1, 1000, 1000);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_TRUE(last_.ok);
  EXPECT_EQ(last_.bytes, 3500u);
  EXPECT_EQ(last_.direction, Direction::kReceive);
  EXPECT_EQ(in_.received_bytes(), 3500u);
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(IncomingTest, AnEmptyMessageEndsItsReceive) {
  post(0, 4000, 1);
  EXPECT_TRUE(whole(0, 0).acknowledge);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.bytes, 0u);
}

TEST_F(IncomingTest, ReceivesEndInPostedOrder) {
  for (OperationId i = 0; i < 3; ++i) post(i * 1000, 1000, i);
  whole(2, 10);
  whole(1, 10);
  EXPECT_TRUE(ended().empty());
  whole(0, 10);
  EXPECT_EQ(ended(), (Operations{0, 1, 2}));
}

TEST_F(IncomingTest, ChannelsEndApart) {
  post(0, 1000, 1, 0);
  post(0, 1000, 2, 3);
  whole(0, 10, 3);
  EXPECT_EQ(ended(), Operations{2});
  EXPECT_EQ(last_.channel, 3);
}

TEST_F(IncomingTest, TheSameBytesAreNotPlacedTwice) {
  post(0, 4000, 1);
  burst(0, 4000, 0, 2, 1000, 1000);
  placed();
  const BurstVerdict again = burst(0, 4000, 0, 2, 1000, 1000);
  EXPECT_TRUE(again.acknowledge);
  EXPECT_EQ(again.drop, DropReason::kDuplicate);
  EXPECT_TRUE(placed().empty());
  EXPECT_EQ(in_.received_bytes(), 2000u);
}

TEST_F(IncomingTest, OfARowThatIsPartlyKnownOnlyTheRestIsPlaced) {
  post(0, 4000, 1);
  burst(0, 4000, 1000, 1, 1000, 1000);
  placed();
  const BurstVerdict verdict = burst(0, 4000, 0, 3, 1000, 1000);
  EXPECT_EQ(verdict.fresh_bytes, 2000u);
  const std::vector<Placement> places = placed();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].to_offset, 0u);
  EXPECT_EQ(places[1].to_offset, 2000u);
  EXPECT_EQ(places[1].source, frame_.data() + 2 * (1000 + kDataHeaderBytes) + kDataHeaderBytes);
}

TEST_F(IncomingTest, PayloadThatIsInItsPlaceAlreadyIsNotCopied) {
  post(500, 4000, 1);
  run_.payload_at = PayloadAt::kPlaced;
  run_.place = {kMemory, 1500, 2000};
  EXPECT_TRUE(burst(0, 4000, 1000, 2, 1000, 1000).acknowledge);
  EXPECT_TRUE(placed().empty());
  run_.place = {kMemory, 3000, 1000};  // elsewhere: it has to move
  EXPECT_TRUE(burst(0, 4000, 0, 1, 1000, 1000).acknowledge);
  const std::vector<Placement> places = placed();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].from.offset, 3000u);
  EXPECT_EQ(places[0].to_offset, 500u);
}

TEST_F(IncomingTest, ASmallMessageWaitsInEagerMemory) {
  EXPECT_TRUE(whole(0, 800).acknowledge);
  EXPECT_EQ(placed()[0].to_region, kEagerRegion);
  EXPECT_EQ(eager_.left(), 3u);
  post(2000, 1000, 1);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.bytes, 800u);
  const std::vector<Placement> places = placed();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].payload_at, PayloadAt::kPlaced);
  EXPECT_EQ(places[0].from.region, kEagerRegion);
  EXPECT_EQ(places[0].to_offset, 2000u);
  EXPECT_EQ(places[0].last_bytes, 800u);
  EXPECT_EQ(eager_.left(), 4u);
}

TEST_F(IncomingTest, SegmentsInAnEagerBlockMoveWhenTheReceiveIsPosted) {
  burst(0, 900, 0, 1, 300, 300);
  burst(0, 900, 600, 1, 300, 300);
  placed();
  post(0, 1000, 1);
  EXPECT_TRUE(ended().empty());
  EXPECT_EQ(placed().size(), 2u);
  burst(0, 900, 300, 1, 300, 300);
  EXPECT_EQ(placed()[0].to_region, kMemory);
  EXPECT_EQ(ended(), Operations{1});
}

TEST_F(IncomingTest, AheadOfItsReceiveALargeMessageIsRefused) {
  const BurstVerdict verdict = whole(0, kBlock + 1);
  EXPECT_FALSE(verdict.acknowledge);
  EXPECT_EQ(verdict.drop, DropReason::kNoReceive);
  EXPECT_EQ(pool_.lent(), 0u);  // nothing is remembered of it
}

TEST_F(IncomingTest, AConnectionTakesOnlySoManyBlocks) {
  for (uint32_t i = 0; i < kBlocks; ++i) EXPECT_TRUE(whole(i, 10).acknowledge);
  const BurstVerdict verdict = whole(kBlocks, 10);
  EXPECT_FALSE(verdict.acknowledge);
  EXPECT_EQ(verdict.drop, DropReason::kOverEager);
  EXPECT_EQ(pool_.lent(), kBlocks);
  post(0, 100, 1);
  EXPECT_TRUE(whole(kBlocks, 10).acknowledge);
}

TEST_F(IncomingTest, WithoutABlockLeftAnEarlyMessageIsRefused) {
  while (eager_.lend() != kNoIndex) continue;
  EXPECT_EQ(whole(0, 10).drop, DropReason::kOverEager);
}

TEST_F(IncomingTest, FieldsThatCannotBeAreRefused) {
  post(0, 4000, 1);
  EXPECT_EQ(whole(0, 10, 4).drop, DropReason::kBadField);                     // no such channel
  EXPECT_EQ(burst(0, 900, 0, 1, 1000, 1000).drop, DropReason::kBadField);     // past its end
  EXPECT_EQ(burst(0, 900, UINT32_MAX, 1, 9, 9).drop, DropReason::kBadField);  // far past its end
  EXPECT_EQ(burst(0, 900, 100, 1, 0, 0).drop, DropReason::kBadField);  // nothing, of something
  EXPECT_EQ(burst(0, 900, 0, 2, 0, 10).drop, DropReason::kBadField);   // segments of nothing
  EXPECT_EQ(burst(0, (1u << 30) + 1, 0, 1, 9, 9).drop, DropReason::kBadField);  // above 1 GiB
  EXPECT_TRUE(burst(0, 900, 0, 1, 9, 9).acknowledge);
  EXPECT_EQ(burst(0, 901, 9, 1, 9, 9).drop, DropReason::kBadField);  // another size than before
  EXPECT_EQ(placed().size(), 1u);
}

TEST_F(IncomingTest, AMessageTooFarAheadOfThePostedReceivesIsDropped) {
  const BurstVerdict verdict = whole(kMaxPosted, 10);
  EXPECT_FALSE(verdict.acknowledge);
  EXPECT_EQ(verdict.drop, DropReason::kOverWindow);
  EXPECT_EQ(whole(UINT32_MAX / 2 - 1, 10).drop, DropReason::kOverWindow);
}

TEST_F(IncomingTest, ARepeatOfACompleteMessageIsAcknowledgedAndNotPlaced) {
  post(0, 100, 1);
  whole(0, 10);
  placed();
  const BurstVerdict verdict = whole(0, 10);
  EXPECT_TRUE(verdict.acknowledge);
  EXPECT_EQ(verdict.drop, DropReason::kStaleMessage);
  EXPECT_TRUE(placed().empty());
}

TEST_F(IncomingTest, AReceiveTooShortEndsTruncatedAndUntouched) {
  post(0, 99, 1);
  EXPECT_TRUE(burst(0, 100, 0, 1, 50, 50).acknowledge);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kTruncated);
  EXPECT_TRUE(placed().empty());
}

TEST_F(IncomingTest, AReceiveTooShortForWhatWaitsEndsTruncated) {
  whole(0, 100);
  placed();
  post(0, 99, 1);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kTruncated);
  EXPECT_TRUE(placed().empty());
  EXPECT_EQ(eager_.left(), 4u);
}

TEST_F(IncomingTest, WithdrawingAReceiveEndsItAndTellsThePeer) {
  post(0, 4000, 1);
  burst(0, 4000, 0, 1, 1000, 1000);
  ASSERT_TRUE(in_.cancel(0, 1, frames_));
  EXPECT_EQ(frames_.back().type, FrameType::kCancelReceive);
  EXPECT_EQ(frames_.back().sequence, kFirstSequence);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
  EXPECT_FALSE(in_.cancel(0, 1, frames_));
  EXPECT_FALSE(in_.cancel(2, 1, frames_));
}

TEST_F(IncomingTest, CancellingAReceiveOfACompleteMessageHasNoEffect) {
  post(0, 100, 1);
  post(100, 100, 2);
  whole(1, 10);
  EXPECT_TRUE(in_.cancel(0, 2, frames_));
  EXPECT_EQ(frames_.back().type, FrameType::kGrant);
  whole(0, 10);
  EXPECT_EQ(ended(), (Operations{1, 2}));
  EXPECT_TRUE(last_.ok);
}

// An acknowledgement would report the message as delivered.
TEST_F(IncomingTest, DataForAWithdrawnReceiveIsAcknowledgedOnlyOnceThePeerKnows) {
  post(0, 4000, 1);
  ASSERT_TRUE(in_.cancel(0, 1, frames_));
  EXPECT_FALSE(whole(0, 4000).acknowledge);
  in_.forget_withdrawn(0, kFirstSequence);
  EXPECT_TRUE(whole(0, 4000).acknowledge);
  EXPECT_TRUE(placed().empty());
}

TEST_F(IncomingTest, AMessageThatThePeerWithdrawsEndsItsReceive) {
  post(0, 4000, 1);
  burst(0, 4000, 0, 1, 1000, 1000);
  ASSERT_TRUE(in_.on_cancel_send({0, kFirstSequence, CancelReason::kCancelled}, frames_));
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
  EXPECT_EQ(frames_.back().type, FrameType::kCancelReceive);  // the answer
}

TEST_F(IncomingTest, AMessageWithdrawnBeforeItsReceiveEndsItWhenItIsPosted) {
  whole(0, 10);
  burst(1, 900, 0, 1, 100, 100);
  ASSERT_TRUE(in_.on_cancel_send({0, kFirstSequence + 1, CancelReason::kTruncated}, frames_));
  EXPECT_EQ(eager_.left(), 3u);
  post(0, 1000, 1);
  post(0, 1000, 2);
  EXPECT_EQ(ended(), (Operations{1, 2}));
  EXPECT_EQ(last_.error, ErrorCode::kTruncated);
}

TEST_F(IncomingTest, AWithdrawalThatComesTooLateIsAnsweredSo) {
  post(0, 100, 1);
  whole(0, 10);
  EXPECT_EQ(ended(), Operations{1});
  ASSERT_TRUE(in_.on_cancel_send({0, kFirstSequence, CancelReason::kCancelled}, frames_));
  EXPECT_EQ(frames_.back().type, FrameType::kDelivered);
  whole(1, 10);  // waits for its receive, whole
  ASSERT_TRUE(in_.on_cancel_send({0, kFirstSequence + 1, CancelReason::kCancelled}, frames_));
  EXPECT_EQ(frames_.back().type, FrameType::kDelivered);
  EXPECT_EQ(frames_.back().sequence, kFirstSequence + 1);
}

TEST_F(IncomingTest, ImpossibleWithdrawalsAreRefused) {
  EXPECT_FALSE(in_.on_cancel_send({4, kFirstSequence, CancelReason::kCancelled}, frames_));
  EXPECT_FALSE(
      in_.on_cancel_send({0, kFirstSequence + kMaxPosted, CancelReason::kCancelled}, frames_));
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(IncomingTest, WithdrawalsOfMessagesThatNobodyReceivesAreBounded) {
  uint32_t taken = 0;
  for (ChannelId channel = 0; channel < 4; ++channel) {
    for (uint32_t i = 0; i < kMaxPosted; ++i) {
      taken += in_.on_cancel_send({channel, kFirstSequence + i, CancelReason::kCancelled}, frames_);
    }
  }
  EXPECT_EQ(taken, kBlocks);
  EXPECT_EQ(pool_.lent(), kBlocks);
}

TEST_F(IncomingTest, ReceivesWithdrawnRunAheadOfTheirMessagesOnlySoFar) {
  for (OperationId i = 0; i < kMaxPosted; ++i) {
    post(0, 100, i);
    ASSERT_TRUE(in_.cancel(0, i, frames_));
  }
  const Result<void> refused = in_.post(0, {{kMemory, 0, 100}, 99}, frames_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  whole(0, 10);  // the peer has come as far as the first
  EXPECT_TRUE(in_.post(0, {{kMemory, 0, 100}, 99}, frames_));
}

// They were counted by channel here and over all channels by the peer, which refused their grants
// for ever (VOPR, seed 120 of its first options).
TEST_F(IncomingTest, ReceivesWithdrawnAreCountedOverAllChannels) {
  for (OperationId i = 0; i < kMaxPosted; ++i) {
    const auto channel = static_cast<ChannelId>(i % 2);
    post(0, 100, i, channel);
    ASSERT_TRUE(in_.cancel(channel, i, frames_));
  }
  EXPECT_EQ(in_.post(2, {{kMemory, 0, 100}, 99}, frames_).error().code, ErrorCode::kExhausted);
  ASSERT_TRUE(in_.on_cancel_send({1, kFirstSequence + 2, CancelReason::kCancelled}, frames_));
  for (OperationId i = 10; i < 13; ++i) post(0, 100, i, 2);
  EXPECT_FALSE(in_.post(2, {{kMemory, 0, 100}, 99}, frames_));
}

// The same seed: both sides had posted all that they may, and each waited for the other.
TEST_F(IncomingTest, AReceiveWhoseMessageIsHereMayBePostedWhateverWasWithdrawn) {
  for (OperationId i = 0; i < kMaxPosted; ++i) {
    post(0, 100, i);
    ASSERT_TRUE(in_.cancel(0, i, frames_));
  }
  ended();
  whole(0, 10, 1);
  post(0, 100, 50, 1);
  EXPECT_EQ(ended(), Operations{50});
  EXPECT_FALSE(in_.post(1, {{kMemory, 0, 100}, 99}, frames_));
}

TEST_F(IncomingTest, EarlyMessagesTakeNoRoomFromReceives) {
  for (ChannelId channel = 0; channel < kBlocks; ++channel) {
    EXPECT_TRUE(whole(kMaxPosted - 1, 10, channel).acknowledge);
  }
  for (OperationId i = 0; i < kMaxPosted; ++i) post(0, 100, i, 3);
  EXPECT_EQ(in_.posted(), kMaxPosted);
}

TEST_F(IncomingTest, PostsBeyondTheBoundAreRefusedUntilSomethingEnds) {
  for (OperationId i = 0; i < kMaxPosted; ++i) post(0, 100, i, static_cast<ChannelId>(i % 2));
  EXPECT_EQ(in_.post(3, {{kMemory, 0, 100}, 99}, frames_).error().code, ErrorCode::kExhausted);
  whole(0, 10);
  EXPECT_TRUE(in_.post(3, {{kMemory, 0, 100}, 99}, frames_));
}

TEST_F(IncomingTest, ImpossibleChannelsAndSizesAreRefused) {
  EXPECT_EQ(in_.post(4, {{kMemory, 0, 1}, 1}, frames_).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(in_.post(0, {{kMemory, 0, kMaxMessageBytes + 1}, 1}, frames_).error().code,
            ErrorCode::kInvalid);
  EXPECT_TRUE(frames_.empty());
}

TEST_F(IncomingTest, PredictsTheNextBytesOfTheMessageUnderWay) {
  ChannelId channel = 9;
  Sequence sequence;
  uint32_t offset = 0;
  Payload place;
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place));
  post(500, 4000, 1);
  burst(0, 3000, 0, 1, 1000, 1000);
  burst(0, 3000, 2000, 1, 500, 500);
  ASSERT_TRUE(in_.predict(channel, sequence, offset, place));
  EXPECT_EQ(channel, 0);
  EXPECT_EQ(sequence, kFirstSequence);
  EXPECT_EQ(offset, 1000u);
  EXPECT_EQ(place.region, kMemory);
  EXPECT_EQ(place.offset, 1500u);
  EXPECT_EQ(place.length, 1000u);  // up to what is there already
}

TEST_F(IncomingTest, PredictsTheNextReceiveWhenOneIsOver) {
  ChannelId channel = 9;
  Sequence sequence;
  uint32_t offset = 0;
  Payload place;
  post(0, 100, 1);
  whole(0, 100);
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place));
  post(2000, 100, 2);
  ASSERT_TRUE(in_.predict(channel, sequence, offset, place));
  EXPECT_EQ(sequence, kFirstSequence + 1);
  EXPECT_EQ(place.offset, 2000u);
}

// The memory may be in use until then, and a prediction may be wrong.
TEST_F(IncomingTest, PredictsNothingIntoMemoryThatIsFilledOnArrivalBeforeSomethingHasArrived) {
  ChannelId channel = 9;
  Sequence sequence;
  uint32_t offset = 0;
  Payload place;
  ASSERT_TRUE(in_.post(0, {{kMemory, 500, 4000}, 1, Fill::kOnArrival}, frames_));
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place));
  burst(0, 3000, 0, 1, 1000, 1000);
  ASSERT_TRUE(in_.predict(channel, sequence, offset, place));
  EXPECT_EQ(place.offset, 1500u);
  burst(0, 3000, 1000, 2, 1000, 1000);
  EXPECT_EQ(ended(), Operations{1});
}

// Others needed that memory for longer than it took the peer to answer: a quarter of what ranks of
// an all-reduce received was copied.
TEST_F(IncomingTest, PredictsAgainOnceNobodyElseTouchesMemoryThatIsFilledOnArrival) {
  ChannelId channel = 9;
  Sequence sequence;
  uint32_t offset = 0;
  Payload place;
  ASSERT_TRUE(in_.post(0, {{kMemory, 500, 4000}, 1, Fill::kOnArrival}, frames_));
  ASSERT_TRUE(in_.post(0, {{kMemory, 9000, 4000}, 2, Fill::kOnArrival}, frames_));
  in_.fill_at_once(0, 2);
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place)) << "the first is another's";
  in_.fill_at_once(7, 1);
  in_.fill_at_once(0, 1);
  ASSERT_TRUE(in_.predict(channel, sequence, offset, place));
  EXPECT_EQ(place.offset, 500u);
  burst(0, 3000, 0, 1, 3000, 3000);
  ASSERT_TRUE(in_.predict(channel, sequence, offset, place));
  EXPECT_EQ(place.offset, 9000u);
}

// Receives that the peer's NIC may write.
class PlacedReceiveTest : public IncomingTest {
 protected:
  PlacedReceiveTest() {
    tokens_[kMemory].length = 8;
    fences_.open(1);
    in_.open_placed(tokens_, fences_);
  }
  // What was asked for is made: what the peer wrote in the old epoch lands no more.
  int fence() {
    int made = 0;
    FenceRequest request;
    for (; fences_.poll(request); ++made) fences_.on_fenced(request.path, request.epoch);
    in_.resume();
    return made;
  }

  TokenTable tokens_;
  Fences fences_;
};

// VOPR, seed 290: a datagram of another message was received at the predicted place, over a chunk
// that had landed and was not reported yet.
TEST_F(PlacedReceiveTest, NothingIsPredictedWhereANicWrites) {
  post(500, 40'000, 1);
  ChannelId channel = 0;
  Sequence sequence;
  uint32_t offset = 0;
  Payload place;
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place));
  EXPECT_FALSE(in_.accept_chunk({0, 0, 10'000, false}));
  EXPECT_FALSE(in_.predict(channel, sequence, offset, place));
}

// VOPR, seed 2238: only a repeat made it ask, and the last bytes came otherwise.
TEST_F(PlacedReceiveTest, AMessageThatEndsBehindItsRepeatsWaitsForAFence) {
  post(0, 40'000, 1);
  run_.segments = 1;
  DataBurst retransmission;
  retransmission.header.sequence = kFirstSequence;
  retransmission.header.message_bytes = 20'000;
  retransmission.segments = 1;
  retransmission.step = retransmission.last = 10'000;
  retransmission.run = &run_;
  retransmission.original = {0, 0, 7};
  EXPECT_TRUE(in_.accept(retransmission).acknowledge);
  EXPECT_TRUE(in_.awaits_fences());
  EXPECT_FALSE(in_.request_fences(true));
  EXPECT_TRUE(burst(0, 20'000, 10'000, 1, 10'000, 10'000).acknowledge);
  EXPECT_TRUE(in_.request_fences(true));
  EXPECT_TRUE(ended().empty());
  EXPECT_TRUE(in_.request_fences(false));
  EXPECT_EQ(fence(), 1);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_FALSE(in_.request_fences(true));
  EXPECT_FALSE(in_.awaits_fences());
}

// A peer that has not received the withdrawal may begin writes after a fence.
TEST_F(PlacedReceiveTest, AWithdrawnReceiveIsOverWhenThePeerKnowsAndItsWritesAreFenced) {
  post(0, 40'000, 1);
  EXPECT_FALSE(in_.accept_chunk({0, 0, 10'000, false}));
  ASSERT_TRUE(in_.cancel(0, 1, frames_));
  EXPECT_EQ(fence(), 0);
  EXPECT_EQ(in_.accept_chunk({0, 10'000, 10'000, false}), DropReason::kStaleMessage);
  EXPECT_TRUE(ended().empty());
  in_.forget_withdrawn(0, kFirstSequence);
  EXPECT_TRUE(ended().empty());
  EXPECT_EQ(fence(), 1);
  EXPECT_EQ(ended(), Operations{1});
  EXPECT_EQ(last_.error, ErrorCode::kCancelled);
}

TEST_F(IncomingTest, TheEndOfAConnectionEndsEveryReceive) {
  post(0, 100, 1);
  post(0, 100, 2, 2);
  whole(1, 10);  // waits for a receive
  in_.fail_all(ErrorCode::kPeerDead);
  EXPECT_EQ(ended(), (Operations{1, 2}));
  EXPECT_EQ(last_.error, ErrorCode::kPeerDead);
  EXPECT_EQ(in_.posted(), 0u);
}

TEST_F(IncomingTest, ACompleteMessageSucceedsWhenTheConnectionFails) {
  post(0, 100, 1);
  post(0, 100, 2);
  whole(1, 10);
  in_.fail_all(ErrorCode::kClosed);
  EXPECT_EQ(ended(), (Operations{1, 2}));
  EXPECT_TRUE(last_.ok);
}

TEST(IncomingEndTest, UnfinishedMessagesReturnPoolAndEagerMemoryAtTheEnd) {
  InPool pool(64);
  EagerBlocks eager(kEagerRegion, Bytes{4 * kBlock}, kBlock);
  Ring<Completion> completions;
  std::vector<Placement> placements;
  Ring<ControlRecord> frames;
  {
    Incoming in({pool, eager, completions, placements}, 7, {4, kMaxPosted, kBlocks});
    ASSERT_TRUE(in.post(1, {{kMemory, 0, 10}, 1}, frames));
    RxRun run;
    DataBurst burst;
    burst.header.sequence = kFirstSequence;
    burst.header.message_bytes = burst.step = burst.last = 5;
    burst.segments = run.segments = 1;
    run.segment_bytes = run.last_segment_bytes = kDataHeaderBytes + 5;
    burst.run = &run;
    ASSERT_TRUE(in.accept(burst).acknowledge);
    EXPECT_EQ(eager.left(), 3u);
  }
  EXPECT_EQ(pool.lent(), 0u);
  EXPECT_EQ(eager.left(), 4u);
}

TEST_F(IncomingTest, SequencesWrap) {
  const uint32_t messages = 3 * (0 - kFirstSequence.value());
  for (uint32_t i = 0; i < messages; ++i) {
    post(0, 100, i);
    ASSERT_TRUE(whole(i, 10).acknowledge);
    ASSERT_EQ(ended(), Operations{i});
    ASSERT_EQ(frames_.pop_front().sequence, kFirstSequence + i);
  }
  EXPECT_EQ(pool_.lent(), 0u);
}

// Rows of several messages in any order, some of them again: every byte is placed once.
TEST_F(IncomingTest, SegmentsInAnyOrderAndRepeatedPlaceEveryByteOnce) {
  Random random(9);
  constexpr uint32_t kStep = 100;
  constexpr uint32_t kSteps = 20;
  for (int round = 0; round < 50; ++round) {
    for (OperationId i = 0; i < 3; ++i) post(i * 2000, 2000, i);
    const uint32_t first = static_cast<uint32_t>(round) * 3;
    uint64_t fresh = 0;
    Operations over;
    while (over.size() < 3) {
      const auto start = static_cast<uint32_t>(random.below(kSteps));
      const auto segments = static_cast<uint32_t>(random.between(1, kSteps - start));
      const auto index = first + static_cast<uint32_t>(random.below(3));
      fresh += burst(index, kStep * kSteps, start * kStep, segments, kStep, kStep).fresh_bytes;
      for (const OperationId operation : ended()) over.push_back(operation);
    }
    EXPECT_EQ(over, (Operations{0, 1, 2}));
    EXPECT_EQ(fresh, 3 * kStep * kSteps);
    uint64_t bytes = 0;
    for (const Placement& place : placed()) {
      bytes += uint64_t{place.segments - 1} * place.bytes + place.last_bytes;
    }
    EXPECT_EQ(bytes, fresh);
  }
}

}  // namespace
}  // namespace heddle::transport
