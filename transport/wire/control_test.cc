// Behaviour of control frames: round trips, and that every malformed one is rejected.
#include "transport/wire/control.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "base/random.h"

namespace heddle::transport {
namespace {

using Buffer = std::vector<std::byte>;

Buffer written(const std::function<void(Writer&)>& write) {
  Buffer space(1024);
  Writer writer(space);
  write(writer);
  space.resize(space.size() - writer.left());
  return space;
}

// A reader behind the type byte.
Reader after_type(const Buffer& bytes) { return Reader(std::span(bytes).subspan(1)); }

// Each beginning of the frame that is not all of it must be rejected.
template <typename Frame>
void expect_rejected_when_cut(const Buffer& bytes, bool (*read)(Reader&, Frame&)) {
  for (size_t length = 1; length < bytes.size(); ++length) {
    Frame frame;
    Reader reader{std::span(bytes).subspan(1, length - 1)};
    EXPECT_FALSE(read(reader, frame)) << length;
  }
}

AckFrame ack(std::initializer_list<NumberRange> ranges) {
  AckFrame frame;
  frame.path = 513;
  frame.echoed_sent_at = Nanos{-9};
  frame.received_at = Nanos{1234567890123};
  frame.marked = 0xfffffffe;
  for (const NumberRange& range : ranges) frame.ranges[frame.range_count++] = range;
  return frame;
}

void expect_same(const AckFrame& a, const AckFrame& b) {
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.echoed_sent_at, b.echoed_sent_at);
  EXPECT_EQ(a.received_at, b.received_at);
  EXPECT_EQ(a.marked, b.marked);
  ASSERT_EQ(a.range_count, b.range_count);
  for (size_t i = 0; i < a.range_count; ++i) {
    EXPECT_EQ(a.ranges[i].low, b.ranges[i].low) << i;
    EXPECT_EQ(a.ranges[i].high, b.ranges[i].high) << i;
  }
}

void expect_survives(const AckFrame& frame) {
  const Buffer bytes = written([&](Writer& writer) { write_ack(frame, writer); });
  EXPECT_EQ(bytes[0], std::byte{static_cast<uint8_t>(FrameType::kAck)});
  Reader reader = after_type(bytes);
  AckFrame read;
  ASSERT_TRUE(read_ack(reader, read));
  EXPECT_EQ(reader.left(), 0u);
  expect_same(read, frame);
  expect_rejected_when_cut(bytes, read_ack);
}

TEST(AckFrameTest, OneNumberSurvives) { expect_survives(ack({{1, 1}})); }

TEST(AckFrameTest, SeveralRangesSurvive) {
  expect_survives(ack({{UINT64_C(1) << 31, (UINT64_C(1) << 31) + 5}, {70, 90}, {1, 1}}));
}

TEST(AckFrameTest, RandomRangesSurvive) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    AckFrame frame = ack({});
    uint64_t at = random.between(uint64_t{1} << 36, uint64_t{1} << 60);
    frame.range_count = static_cast<uint8_t>(random.between(1, kMaxAckRanges));
    for (size_t i = 0; i < frame.range_count; ++i) {
      const uint64_t high = at;
      const uint64_t low = high - random.below(UINT64_C(1) << random.between(0, 31));
      frame.ranges[i] = {low, high};
      at = low - random.between(2, UINT32_MAX);
    }
    expect_survives(frame);
  }
}

// The bytes behind the type byte of an acknowledgement with the newest range `high`, `length` and
// one more.
Reader raw_ack(Buffer& space, uint8_t count, uint64_t high, uint32_t length, uint32_t step,
               uint32_t more) {
  space = written([&](Writer& writer) {
    writer.put(uint16_t{0}).put(int64_t{0}).put(int64_t{0}).put(uint32_t{0}).put(count);
    writer.put(high).put(length).put(step).put(more);
    writer.put_zeros(200);
  });
  return Reader(space);
}

TEST(AckFrameTest, RangesThatCannotBeAreRejected) {
  struct Case {
    const char* what;
    uint8_t count;
    uint64_t high;
    uint32_t length, step, more;
  };
  const std::array<Case, 10> cases = {{
      {"no range", 0, 10, 1, 2, 1},
      {"more ranges than a frame has", 17, 1000000, 1, 2, 1},
      {"an empty newest range", 1, 10, 0, 2, 1},
      {"a newest range that reaches number 0", 1, 10, 11, 2, 1},
      {"number 0 as the newest", 1, 0, 1, 2, 1},
      {"ranges that overlap", 2, 10, 1, 0, 1},
      {"ranges that touch", 2, 10, 1, 1, 1},
      {"an empty older range", 2, 10, 1, 2, 0},
      {"a gap that reaches number 0", 2, 10, 1, 10, 1},
      {"an older range that reaches number 0", 2, 10, 1, 2, 9},
  }};
  for (const Case& one : cases) {
    Buffer space;
    Reader reader = raw_ack(space, one.count, one.high, one.length, one.step, one.more);
    AckFrame frame;
    EXPECT_FALSE(read_ack(reader, frame)) << one.what;
  }
  Buffer space;
  Reader reader = raw_ack(space, 2, 10, 1, 2, 8);  // down to number 1, which is allowed
  AckFrame frame;
  ASSERT_TRUE(read_ack(reader, frame));
  EXPECT_EQ(frame.ranges[1].low, 1u);
}

TEST(AckFrameTest, AGapTooLongForItsFieldEndsTheList) {
  const uint64_t far = UINT64_C(1) << 40;
  const AckFrame frame = ack({{far, far}, {far - 10, far - 5}, {3, 4}});
  const Buffer bytes = written([&](Writer& writer) { write_ack(frame, writer); });
  Reader reader = after_type(bytes);
  AckFrame read;
  ASSERT_TRUE(read_ack(reader, read));
  expect_same(read, ack({{far, far}, {far - 10, far - 5}}));
}

// Found by reading: the newest range is cut to its field, and what followed was counted from the
// cut.
TEST(AckFrameTest, ANewestRangeTooLongForItsFieldSaysNothingWrongOfOlderOnes) {
  const uint64_t high = UINT64_C(0x180000000);
  const AckFrame frame = ack({{1000, high}, {990, 998}});
  const Buffer bytes = written([&](Writer& writer) { write_ack(frame, writer); });
  Reader reader = after_type(bytes);
  AckFrame read;
  ASSERT_TRUE(read_ack(reader, read));
  ASSERT_EQ(read.range_count, 1);
  EXPECT_EQ(read.ranges[0].high, high);
  EXPECT_EQ(read.ranges[0].low, high - UINT32_MAX + 1);
}

TEST(AckTimesTest, Survive) {
  const Buffer bytes = written([](Writer& writer) {
    write_ack_times({Nanos{-3}, UINT64_C(1) << 50}, writer);
  });
  EXPECT_EQ(bytes.size(), kAckTimesBytes);
  Reader reader = after_type(bytes);
  AckTimes times;
  ASSERT_TRUE(read_ack_times(reader, times));
  EXPECT_EQ(times.made_at, Nanos{-3});
  EXPECT_EQ(times.window_bytes, UINT64_C(1) << 50);
  expect_rejected_when_cut(bytes, read_ack_times);
}

TEST(GrantFrameTest, Survives) {
  const Buffer bytes = written([](Writer& writer) {
    write_grant({7, 0xffffffff, 300, 1u << 30}, writer);
  });
  EXPECT_EQ(bytes.size(), kGrantBytes);
  Reader reader = after_type(bytes);
  GrantFrame grant;
  ASSERT_TRUE(read_grant(reader, grant));
  EXPECT_EQ(grant.channel, 7);
  EXPECT_EQ(grant.first_sequence, 0xffffffffu);
  EXPECT_EQ(grant.count, 300);
  EXPECT_EQ(grant.capacity, 1u << 30);
  expect_rejected_when_cut(bytes, read_grant);
}

TEST(GrantFrameTest, AGrantOfNothingIsRejected) {
  const Buffer bytes = written([](Writer& writer) { write_grant({7, 1, 0, 1}, writer); });
  Reader reader = after_type(bytes);
  GrantFrame grant;
  EXPECT_FALSE(read_grant(reader, grant));
}

TEST(CancelFrameTest, SurvivesForBothDirectionsAndReasons) {
  for (const FrameType type : {FrameType::kCancelSend, FrameType::kCancelReceive}) {
    for (const CancelReason reason : {CancelReason::kCancelled, CancelReason::kTruncated}) {
      const Buffer bytes = written([&](Writer& writer) {
        write_cancel(type, {63, 0x80000000, reason}, writer);
      });
      EXPECT_EQ(bytes.size(), kCancelBytes);
      EXPECT_EQ(bytes[0], std::byte{static_cast<uint8_t>(type)});
      Reader reader = after_type(bytes);
      CancelFrame cancel;
      ASSERT_TRUE(read_cancel(reader, cancel));
      EXPECT_EQ(cancel.channel, 63);
      EXPECT_EQ(cancel.sequence, 0x80000000u);
      EXPECT_EQ(cancel.reason, reason);
      expect_rejected_when_cut(bytes, read_cancel);
    }
  }
}

TEST(CancelFrameTest, AnUnknownReasonIsRejected) {
  Buffer bytes = written([](Writer& writer) { write_cancel(FrameType::kCancelSend, {}, writer); });
  bytes.back() = std::byte{2};
  Reader reader = after_type(bytes);
  CancelFrame cancel;
  EXPECT_FALSE(read_cancel(reader, cancel));
}

TEST(CloseFrameTest, SurvivesForEveryReason) {
  for (const CloseReason reason :
       {CloseReason::kGraceful, CloseReason::kAborted, CloseReason::kProtocolError,
        CloseReason::kFinished, CloseReason::kUnheard}) {
    const Buffer bytes = written([&](Writer& writer) { write_close(reason, writer); });
    EXPECT_EQ(bytes.size(), kCloseBytes);
    Reader reader = after_type(bytes);
    CloseReason read{};
    ASSERT_TRUE(read_close(reader, read));
    EXPECT_EQ(read, reason);
    expect_rejected_when_cut(bytes, read_close);
  }
}

TEST(CloseFrameTest, AnUnknownReasonIsRejected) {
  const std::array<std::byte, 1> bytes{std::byte{5}};
  Reader reader(bytes);
  CloseReason reason{};
  EXPECT_FALSE(read_close(reader, reason));
}

PlacedGrantFrame placed_grant(uint8_t token_bytes) {
  PlacedGrantFrame frame{3, 0xfffffff0, 1u << 20, 254, UINT64_C(1) << 45, {}};
  frame.token.length = token_bytes;
  for (uint8_t i = 0; i < token_bytes; ++i) frame.token.bytes[i] = std::byte(i + 1);
  return frame;
}

TEST(PlacedGrantFrameTest, SurvivesWithTokensOfAnySize) {
  for (uint8_t token = 1; token <= 32; ++token) {
    const PlacedGrantFrame frame = placed_grant(token);
    const Buffer bytes = written([&](Writer& writer) { write_placed_grant(frame, writer); });
    EXPECT_LE(bytes.size(), kLargestFrameBytes);
    Reader reader = after_type(bytes);
    PlacedGrantFrame read;
    ASSERT_TRUE(read_placed_grant(reader, read));
    EXPECT_EQ(read.channel, frame.channel);
    EXPECT_EQ(read.sequence, frame.sequence);
    EXPECT_EQ(read.capacity, frame.capacity);
    EXPECT_EQ(read.slot, frame.slot);
    EXPECT_EQ(read.remote_offset, frame.remote_offset);
    EXPECT_EQ(read.token.length, token);
    EXPECT_EQ(read.token.bytes, frame.token.bytes);
    expect_rejected_when_cut(bytes, read_placed_grant);
  }
}

TEST(PlacedGrantFrameTest, ATokenOfNoBytesOrTooManyIsRejected) {
  for (const uint8_t length : {uint8_t{0}, uint8_t{33}, uint8_t{255}}) {
    Buffer bytes = written([](Writer& writer) { write_placed_grant(placed_grant(32), writer); });
    bytes[20] = std::byte{length};
    bytes.resize(400);
    Reader reader = after_type(bytes);
    PlacedGrantFrame read;
    EXPECT_FALSE(read_placed_grant(reader, read)) << int{length};
  }
}

TEST(TrimFrameTest, Survives) {
  const Buffer bytes = written([](Writer& writer) { write_trim({7, 1ull << 40}, writer); });
  EXPECT_EQ(bytes.size(), kTrimBytes);
  Reader reader = after_type(bytes);
  TrimFrame trim;
  ASSERT_TRUE(read_trim(reader, trim));
  EXPECT_EQ(trim.path, 7);
  EXPECT_EQ(trim.number, 1ull << 40);
  expect_rejected_when_cut(bytes, read_trim);
}

TEST(FenceFrameTest, SurvivesInBothDirections) {
  for (const FrameType type : {FrameType::kFenced, FrameType::kAskFence}) {
    const Buffer bytes = written([&](Writer& writer) { write_fence(type, {9, 60000}, writer); });
    Reader reader = after_type(bytes);
    FenceFrame fence;
    ASSERT_TRUE(read_fence(reader, fence));
    EXPECT_EQ(fence.path, 9);
    EXPECT_EQ(fence.epoch, PathEpoch(60000));
    expect_rejected_when_cut(bytes, read_fence);
  }
}

}  // namespace
}  // namespace heddle::transport
