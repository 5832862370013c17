// Acknowledgements: when one is due, what it reports, and in which order paths are reported.
#include "transport/recovery/acknowledgements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace heddle::transport {
namespace {

constexpr Nanos kStart = seconds(5);
constexpr uint64_t kWindow = 100'000;

class AckManagerTest : public ::testing::Test {
 protected:
  AckManagerTest() { acks_.open(8); }

  void arrive(Nanos now, uint16_t path, uint64_t low, uint64_t high, uint64_t bytes = 1000,
              uint8_t flags = 0, Ecn ecn = Ecn::kEct0) {
    ConnectionHeader header;
    header.path = path;
    header.flags = flags;
    header.sent_at = now - micros(30);
    acks_.note(now, header, {.low = low, .high = high, .ecn = ecn, .bytes = bytes});
  }

  // The acknowledgement frames of one packet with `space` bytes for them.
  std::vector<AckFrame> write(Nanos now, size_t space = 1170) {
    std::array<std::byte, 4096> bytes;
    Writer writer{std::span(bytes).first(space)};
    std::vector<AckFrame> frames;
    if (!acks_.write(now, kWindow, writer)) return frames;
    Reader reader{std::span(bytes).first(space - writer.left())};
    EXPECT_EQ(reader.get<uint8_t>(), static_cast<uint8_t>(FrameType::kAckTimes));
    AckTimes times;
    EXPECT_TRUE(read_ack_times(reader, times));
    EXPECT_EQ(times.made_at, now);
    EXPECT_EQ(times.window_bytes, kWindow);
    while (reader.left() > 0) {
      EXPECT_EQ(reader.get<uint8_t>(), static_cast<uint8_t>(FrameType::kAck));
      EXPECT_TRUE(read_ack(reader, frames.emplace_back()));
    }
    return frames;
  }

  // How long the acknowledgement of a message's beginning waits for company.
  static Nanos wait_within(uint8_t flags, Nanos round_trip) {
    OlderPool ranges{64};
    AckManager acks{ranges};
    acks.open(1);
    acks.note(
        kStart, {.flags = flags},
        {.low = 1, .high = 1, .bytes = 1000, .within_message = true, .round_trip = round_trip});
    return acks.due_at() - kStart;
  }

  OlderPool ranges_{64};
  AckManager acks_{ranges_};
};

TEST_F(AckManagerTest, NothingArrivedNothingIsDue) {
  EXPECT_FALSE(acks_.pending());
  EXPECT_EQ(acks_.due_at(), Nanos::never());
  EXPECT_TRUE(write(kStart).empty());
}

TEST_F(AckManagerTest, PayloadInOrderMayWaitForCompany) {
  arrive(kStart, 0, 1, 1);
  EXPECT_FALSE(acks_.due(kStart));
  EXPECT_TRUE(acks_.due(kStart + AckRules::kDelay));
  arrive(kStart + micros(10), 0, 2, 2);  // does not put it off
  EXPECT_TRUE(acks_.due(kStart + AckRules::kDelay));
}

TEST_F(AckManagerTest, ControlPacketsMayWaitLonger) {
  arrive(kStart, 0, 1, 1, 0);
  EXPECT_FALSE(acks_.due(kStart + AckRules::kDelay));
  EXPECT_TRUE(acks_.due(kStart + AckRules::kControlDelay));
}

TEST_F(AckManagerTest, ADeferredAcknowledgementWaitsForThreeMore) {
  for (uint64_t number = 1; number < 4; ++number) {
    arrive(kStart, 0, number, number, 1000, kFlagAckLater);
    EXPECT_FALSE(acks_.due(kStart + AckRules::kDelay));
    EXPECT_TRUE(acks_.due(kStart + AckRules::kControlDelay));
  }
  arrive(kStart, 0, 4, 4, 1000, kFlagAckLater);
  EXPECT_TRUE(acks_.due(kStart));
  write(kStart);
  arrive(kStart, 0, 5, 5, 1000, kFlagAckLater);
  EXPECT_FALSE(acks_.due(kStart + AckRules::kDelay));
  arrive(kStart, 0, 6, 6);  // this one is not deferred
  EXPECT_TRUE(acks_.due(kStart + AckRules::kDelay));
}

TEST_F(AckManagerTest, AfterAGapNoneWaitsLonger) {
  arrive(kStart, 0, 1, 1, 1000, kFlagAckLater);
  arrive(kStart, 0, 3, 3, 1000, kFlagAckLater);
  EXPECT_TRUE(acks_.due(kStart));
  write(kStart);
  arrive(kStart + micros(50), 0, 4, 4, 1000, kFlagAckLater);
  EXPECT_TRUE(acks_.due(kStart + micros(50) + AckRules::kDelay));
}

TEST_F(AckManagerTest, OneThatIsAskedForIsDueAtOnce) {
  arrive(kStart, 0, 1, 1, 1000, kFlagAckNow);
  EXPECT_TRUE(acks_.due(kStart));
}

// Over many paths that is not the last segment that was sent, which asks.
TEST_F(AckManagerTest, APacketThatCompletesAMessageIsAcknowledgedAtOnce) {
  ConnectionHeader header;
  acks_.note(kStart, header, {.low = 1, .high = 1, .bytes = 1000, .within_message = true});
  EXPECT_FALSE(acks_.due(kStart));
  acks_.note(kStart, header,
             {.low = 2, .high = 2, .bytes = 1000, .within_message = true, .completes = true});
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, AGapIsToldAtOnce) {
  arrive(kStart, 0, 1, 1);
  write(kStart);
  arrive(kStart, 0, 3, 3);
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, AReorderedPacketIsAcknowledgedAtOnce) {
  arrive(kStart, 0, 1, 1);
  arrive(kStart, 0, 3, 3);
  write(kStart);
  arrive(kStart, 0, 2, 2);
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, ACongestionMarkIsToldAtOnceAndCounted) {
  arrive(kStart, 0, 1, 4, 4000, 0, Ecn::kCongestion);
  EXPECT_TRUE(acks_.due(kStart));
  EXPECT_EQ(write(kStart)[0].marked, 4u);
  arrive(kStart, 0, 5, 5, 1000, 0, Ecn::kCongestion);
  EXPECT_EQ(write(kStart)[0].marked, 5u);  // since the start, so that a lost one loses no mark
}

TEST_F(AckManagerTest, WithinAMessageItWaitsAnEighthOfARoundTripWithinLimits) {
  EXPECT_EQ(wait_within(0, {}), AckRules::kDelay);
  EXPECT_EQ(wait_within(0, micros(80)), AckRules::kDelay);
  EXPECT_EQ(wait_within(0, millis(2)), micros(250));
  EXPECT_EQ(wait_within(0, seconds(1)), AckRules::kLongestDelayWithin);
}

// Its sender's window holds the rest of the message, and the end asks.
TEST_F(AckManagerTest, WhileTheRestComesAnywayItWaitsLongerAndCountsNothing) {
  const ConnectionHeader rest_comes{.flags = kFlagAckLater};
  AckManager::Arrival long_row{.bytes = 60'000, .within_message = true, .round_trip = micros(300)};
  for (uint64_t number = 1; number <= 16; ++number) {
    long_row.low = long_row.high = number;
    acks_.note(kStart, rest_comes, long_row);
  }
  EXPECT_EQ(acks_.due_at(), kStart + micros(150));
  arrive(kStart, 0, 17, 17, 60'000, kFlagAckNow);
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, TheRestOfAMessageIsWaitedForWithinLimits) {
  EXPECT_EQ(wait_within(kFlagAckLater, {}), 4 * AckRules::kDelay);
  EXPECT_EQ(wait_within(kFlagAckLater, seconds(1)), AckRules::kLongestDelayWithin);
}

// Over many paths the end, which asked, may be there before what stood ahead of it.
TEST_F(AckManagerTest, ADeferredPacketThatCompletesAMessageAfterItsEndIsAcknowledgedAtOnce) {
  acks_.note(kStart, {.flags = kFlagAckLater},
             {.low = 1, .high = 1, .bytes = 1000, .within_message = true, .completes = true});
  EXPECT_TRUE(acks_.due(kStart));
}

// One that asks for itself and for what left before it has come over a faster path.
TEST_F(AckManagerTest, APacketOvertakenByOneThatAskedIsAcknowledgedAtOnce) {
  const auto arrives = [this](uint16_t path, uint8_t flags, Nanos sent_at) {
    ConnectionHeader header;
    header.type = PacketType::kData;
    header.flags = flags;
    header.path = path;
    header.sent_at = sent_at;
    acks_.note(kStart, header, {.low = 1, .high = 1, .bytes = 50'000, .completes = true});
  };
  arrives(1, kFlagAckNow, micros(500));
  write(kStart);
  arrives(2, kFlagAckLater, micros(501));
  EXPECT_FALSE(acks_.due(kStart));
  arrives(3, kFlagAckLater, micros(490));
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, TheEndOfAMessageCutsTheWaitShort) {
  ConnectionHeader header;
  acks_.note(kStart, header,
             {.low = 1, .high = 1, .bytes = 1000, .within_message = true, .round_trip = millis(8)});
  EXPECT_EQ(acks_.due_at(), kStart + AckRules::kLongestDelayWithin);
  arrive(kStart + micros(100), 0, 2, 2);
  EXPECT_EQ(acks_.due_at(), kStart + micros(100) + AckRules::kDelay);
}

TEST_F(AckManagerTest, AfterAGapItIsPromptAndTellsOfOtherPathsToo) {
  for (uint16_t path = 0; path < 8; ++path) arrive(kStart, path, 1, 1);
  write(kStart);
  const auto three_paths = [&](Nanos now, uint64_t number) {
    for (uint16_t path = 0; path < 3; ++path) {
      acks_.note(now, ConnectionHeader{.path = path},
                 {.low = number,
                  .high = number,
                  .bytes = 1000,
                  .within_message = true,
                  .round_trip = millis(8)});
    }
  };
  const Nanos gap = kStart + millis(10);
  three_paths(gap, 3);  // 2 is missing
  EXPECT_TRUE(acks_.due(gap));
  EXPECT_EQ(write(gap).size(), 6u);
  three_paths(gap + micros(500), 4);
  EXPECT_EQ(acks_.due_at(), gap + micros(500) + AckRules::kDelay);
  EXPECT_EQ(write(gap + micros(525)).size(), 6u);
  const Nanos later = gap + AckRules::kPromptAfterGap + micros(100);
  three_paths(later, 5);
  EXPECT_EQ(acks_.due_at(), later + AckRules::kLongestDelayWithin);
  EXPECT_EQ(write(later + AckRules::kLongestDelayWithin).size(), 3u);
}

TEST_F(AckManagerTest, ManyBytesOfSeveralArrivalsAreToldAtOnce) {
  arrive(kStart, 0, 1, 1, AckRules::kBytes - AckRules::kArrivals);
  for (uint64_t i = 1; i < AckRules::kArrivals; ++i) {
    EXPECT_FALSE(acks_.due(kStart));
    arrive(kStart, 1, i, i, 1);
  }
  EXPECT_FALSE(acks_.due(kStart)) << "a byte is missing";
  arrive(kStart, 2, 1, 1, 1);
  EXPECT_TRUE(acks_.due(kStart));
}

TEST_F(AckManagerTest, OneBurstIsNotAcknowledgedAlone) {
  arrive(kStart, 0, 1, 7, 2 * AckRules::kBytes);
  EXPECT_EQ(acks_.due_at(), kStart + AckRules::kDelay);
  arrive(kStart, 0, 8, 14, 2 * AckRules::kBytes);
  arrive(kStart, 0, 15, 21, 2 * AckRules::kBytes);
  EXPECT_FALSE(acks_.due(kStart));
  arrive(kStart, 0, 22, 28, 2 * AckRules::kBytes);
  EXPECT_TRUE(acks_.due(kStart));
  write(kStart);
  arrive(kStart, 0, 29, 35, 2 * AckRules::kBytes);
  EXPECT_FALSE(acks_.due(kStart)) << "counted anew";
}

TEST_F(AckManagerTest, ADuplicateIsToldAtOnce) {
  arrive(kStart, 3, 1, 1);
  write(kStart);
  EXPECT_FALSE(acks_.pending());
  acks_.note_duplicate(kStart + millis(1), 3);
  EXPECT_TRUE(acks_.due(kStart + millis(1)));
  EXPECT_EQ(write(kStart + millis(1))[0].path, 3);
}

TEST_F(AckManagerTest, ADuplicateOnAPathWhereNothingCountedIsNoNews) {
  acks_.note_duplicate(kStart, 3);
  EXPECT_FALSE(acks_.pending());
}

TEST_F(AckManagerTest, TellsRangesAndTheTimesOfTheNewest) {
  arrive(kStart, 2, 1, 5);
  arrive(kStart + micros(7), 2, 8, 9);
  arrive(kStart + micros(9), 2, 6, 6);  // late: the newest stays what it was
  const std::vector<AckFrame> frames = write(kStart + micros(20));
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0].path, 2);
  EXPECT_EQ(frames[0].echoed_sent_at, kStart + micros(7) - micros(30));
  EXPECT_EQ(frames[0].received_at, kStart + micros(7));
  ASSERT_EQ(frames[0].range_count, 2);
  EXPECT_EQ(frames[0].ranges[0].low, 8u);
  EXPECT_EQ(frames[0].ranges[1].low, 1u);
  EXPECT_EQ(frames[0].ranges[1].high, 6u);
}

TEST_F(AckManagerTest, PacketsOfSeveralPathsAreAcknowledgedTogether) {
  for (uint16_t path = 0; path < 5; ++path) arrive(kStart, path, 1, 1);
  EXPECT_GE(write(kStart).size(), 5u);
  EXPECT_FALSE(acks_.pending());
  EXPECT_EQ(acks_.due_at(), Nanos::never());
}

TEST_F(AckManagerTest, PathsWithoutNewsAreRepeatedInTurn) {
  for (uint16_t path = 0; path < 8; ++path) arrive(kStart, path, 1, 1);
  write(kStart);
  std::array<int, 8> told{};
  for (uint64_t i = 2; i < 10; ++i) {
    const Nanos now = kStart + i * AckRules::kDelay;
    arrive(now, 0, i, i);
    for (const AckFrame& frame : write(now)) ++told[frame.path];
  }
  EXPECT_GE(told[0], 8);
  for (size_t path = 1; path < 8; ++path) EXPECT_GE(told[path], 2) << path;
}

// Two of three acknowledgements in each small message were of paths that had been quiet for long.
TEST_F(AckManagerTest, PathsThatAreQuietForLongAreNotRepeated) {
  for (uint16_t path = 0; path < 8; ++path) arrive(kStart, path, 1, 1);
  write(kStart);
  uint64_t number = 1;
  const auto repeated_at = [this, &number](Nanos now) {
    ++number;
    arrive(now, 0, number, number);
    const std::vector<AckFrame> frames = write(now);
    return std::count_if(frames.begin(), frames.end(),
                         [](const AckFrame& frame) { return frame.path != 0; });
  };
  EXPECT_EQ(repeated_at(kStart + millis(10)), 2);
  // Also when the short time that is kept of their arrivals has wrapped.
  for (int ms = 100; ms < 600; ++ms) {
    ASSERT_EQ(repeated_at(kStart + millis(ms)), 0) << ms;
  }
  arrive(kStart + millis(600), 5, 2, 2);
  write(kStart + millis(601));
  int64_t of_five = 0;
  for (int i = 0; i < 8; ++i) of_five += repeated_at(kStart + millis(602) + i * AckRules::kDelay);
  EXPECT_GE(of_five, 2) << "one that is heard of again is";
}

// Its sender would measure how long it went unnoticed that the first was lost.
TEST_F(AckManagerTest, AnArrivalTimeIsReportedOnce) {
  arrive(kStart, 0, 1, 1);
  EXPECT_EQ(write(kStart + micros(3))[0].received_at, kStart);
  acks_.note_duplicate(kStart + millis(50), 0);
  EXPECT_EQ(write(kStart + millis(50))[0].received_at, kReportedBefore);
  arrive(kStart + millis(60), 0, 2, 2);
  EXPECT_EQ(write(kStart + millis(60))[0].received_at, kStart + millis(60));
}

TEST_F(AckManagerTest, ManySmallAcknowledgementsRepeatOnlyNowAndThen) {
  for (uint16_t path = 0; path < 8; ++path) arrive(kStart, path, 1, 1);
  write(kStart);
  size_t frames = 0;
  for (uint64_t i = 2; i < 22; ++i) {
    const Nanos now = kStart + i * AckRules::kDelay / 10;
    arrive(now, 0, i, i);
    frames += write(now).size();
  }
  EXPECT_LE(frames, 20u + 3 * 3);
}

TEST_F(AckManagerTest, PathsThatNeverHeardAnythingAreNotTold) {
  arrive(kStart, 4, 1, 1);
  const std::vector<AckFrame> frames = write(kStart);
  EXPECT_TRUE(std::all_of(frames.begin(), frames.end(),
                          [](const AckFrame& frame) { return frame.path == 4; }));
}

TEST_F(AckManagerTest, AcknowledgementsThatDoNotFitGoIntoTheNextPacket) {
  acks_.open(256);
  for (uint16_t path = 0; path < 256; ++path) arrive(kStart, path, 1, 1);
  std::array<bool, 256> told{};
  int packets = 0;
  while (acks_.pending()) {
    EXPECT_TRUE(acks_.due(kStart + AckRules::kDelay));  // the rest is as urgent as the whole was
    for (const AckFrame& frame : write(kStart)) told[frame.path] = true;
    ASSERT_LT(++packets, 20);
  }
  EXPECT_GT(packets, 1);
  EXPECT_TRUE(std::all_of(told.begin(), told.end(), [](bool one) { return one; }));
}

TEST_F(AckManagerTest, WithoutRoomForOneNothingIsWrittenAndNothingForgotten) {
  arrive(kStart, 0, 1, 1);
  EXPECT_TRUE(write(kStart, 40).empty());
  EXPECT_TRUE(acks_.pending());
  EXPECT_EQ(write(kStart).size(), 1u);
}

TEST_F(AckManagerTest, WithTheMostRangesItStaysWithinItsSpace) {
  for (uint16_t path = 0; path < 8; ++path) {
    for (uint64_t i = 1; i < 100; i += 2) arrive(kStart, path, i, i);
  }
  for (size_t space = 0; space < 2000; space += 7) {
    for (uint16_t path = 0; path < 8; ++path) acks_.note_duplicate(kStart, path);
    for (const AckFrame& frame : write(kStart, space)) {
      EXPECT_EQ(frame.range_count, kMaxAckRanges);
    }
  }
}

TEST_F(AckManagerTest, PathsAreNamedFromTheFirstName) {
  acks_.open(4, 256);
  arrive(kStart, 3, 1, 1);
  const std::vector<AckFrame> frames = write(kStart);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0].path, 259);
}

}  // namespace
}  // namespace heddle::transport
