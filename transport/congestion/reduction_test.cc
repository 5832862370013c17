// When a window may be reduced, and by how much.
#include "transport/congestion/reduction.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

using Kind = Reduction::Kind;

constexpr uint64_t kWindow = 1'000'000;
constexpr uint32_t kHalf = 500'000;

CongestionSign sign_at(Nanos sent_at) { return {.sent_at = sent_at}; }
CongestionSign alone_at(Nanos sent_at, uint32_t paths) {
  return {.sent_at = sent_at, .active_paths = paths, .others_clean = true};
}

TEST(Reduction, TheFirstSignCutsTheWindow) {
  Reduction reduction;
  const auto answer = reduction.answer(micros(100), sign_at(micros(10)), kWindow, kHalf, true);
  EXPECT_EQ(answer.kind, Kind::kFirst);
  EXPECT_EQ(answer.window, kWindow / 2);
  EXPECT_FALSE(answer.shared);
}

TEST(Reduction, SignsFromBeforeTheCutChangeNothing) {
  Reduction reduction;
  (void)reduction.answer(micros(100), sign_at(micros(10)), kWindow, kHalf, true);
  for (const Nanos sent_at : {micros(10), micros(99), micros(100)}) {
    const auto answer = reduction.answer(micros(150), sign_at(sent_at), kWindow / 2, kHalf, true);
    EXPECT_EQ(answer.kind, Kind::kNone);
    EXPECT_EQ(answer.window, kWindow / 2);
  }
  const auto later = reduction.answer(micros(220), sign_at(micros(101)), kWindow / 2, kHalf, true);
  EXPECT_EQ(later.kind, Kind::kFirst);
  EXPECT_EQ(later.window, kWindow / 4);
}

TEST(Reduction, TheClocksFirstInstantIsNoExcuse) {
  Reduction reduction;
  EXPECT_EQ(reduction.answer({}, sign_at({}), kWindow, kHalf, true).kind, Kind::kFirst);
}

TEST(Reduction, APathAloneCostsItsShare) {
  Reduction reduction;
  const auto answer = reduction.answer(micros(100), alone_at(micros(10), 8), kWindow, kHalf, true);
  EXPECT_TRUE(answer.shared);
  EXPECT_EQ(answer.window, kWindow - kWindow / 2 / 8);
}

TEST(Reduction, TheOnlyPathIsNotAlone) {
  Reduction reduction;
  const auto answer = reduction.answer(micros(100), alone_at(micros(10), 1), kWindow, kHalf, true);
  EXPECT_FALSE(answer.shared);
  EXPECT_EQ(answer.window, kWindow / 2);
}

TEST(Reduction, AShareBecomesWholeOnceWhenOthersSufferInTheSameRoundTrip) {
  Reduction reduction;
  const uint64_t shared =
      reduction.answer(micros(100), alone_at(micros(10), 4), kWindow, kHalf, true).window;
  EXPECT_EQ(reduction.answer(micros(110), alone_at(micros(20), 4), shared, kHalf, true).kind,
            Kind::kNone);
  const auto deeper = reduction.answer(micros(120), sign_at(micros(30)), shared, kHalf, true);
  EXPECT_EQ(deeper.kind, Kind::kDeeper);
  EXPECT_EQ(deeper.window, kWindow / 2);
  EXPECT_EQ(reduction.answer(micros(130), sign_at(micros(40)), deeper.window, kHalf, true).kind,
            Kind::kNone);
}

TEST(Reduction, AWholeCutIsNeverDeepened) {
  Reduction reduction;
  (void)reduction.answer(micros(100), sign_at(micros(10)), kWindow, kHalf, true);
  EXPECT_EQ(reduction.answer(micros(120), sign_at(micros(30)), kWindow / 2, 100'000, true).kind,
            Kind::kNone);
}

TEST(Reduction, UndoIsGivenOnceAndOnlyWhereAllowed) {
  Reduction reduction;
  EXPECT_FALSE(reduction.take_undo());
  (void)reduction.answer(micros(100), sign_at(micros(10)), kWindow, kHalf, true);
  EXPECT_TRUE(reduction.take_undo());
  EXPECT_FALSE(reduction.take_undo());
  (void)reduction.answer(micros(300), sign_at(micros(200)), kWindow, kHalf, false);
  EXPECT_FALSE(reduction.take_undo()) << "a mark is proof; only losses can turn out spurious";
}

TEST(Reduction, AnUndoneReductionIsNotDeepened) {
  Reduction reduction;
  (void)reduction.answer(micros(100), alone_at(micros(10), 4), kWindow, kHalf, true);
  ASSERT_TRUE(reduction.take_undo());
  EXPECT_EQ(reduction.answer(micros(120), sign_at(micros(30)), kWindow, kHalf, true).kind,
            Kind::kNone);
}

TEST(Reduction, AMarkThatDeepensALossEndsItsUndo) {
  Reduction reduction;
  (void)reduction.answer(micros(100), alone_at(micros(10), 4), kWindow, kHalf, true);
  (void)reduction.answer(micros(120), sign_at(micros(30)), kWindow, kHalf, false);
  EXPECT_FALSE(reduction.take_undo());
}

LossSample timeout_at(Nanos sent_at) { return {.sent_at = sent_at, .timeout = true}; }

TEST(Reduction, TheSecondTimeoutWithoutAnAcknowledgementPersists) {
  Reduction reduction;
  EXPECT_FALSE(reduction.timeout_persists(millis(10), timeout_at(millis(1))));
  (void)reduction.answer(millis(10), sign_at(millis(1)), kWindow, kHalf, true);
  EXPECT_FALSE(reduction.timeout_persists(millis(11), timeout_at(millis(9))))
      << "sent before the first was answered: still the first";
  EXPECT_TRUE(reduction.timeout_persists(millis(30), timeout_at(millis(11))));
  EXPECT_FALSE(reduction.take_undo());
}

TEST(Reduction, AnAcknowledgementOfWhatWasSentAfterATimeoutEndsTheRow) {
  Reduction reduction;
  EXPECT_FALSE(reduction.timeout_persists(millis(10), timeout_at(millis(1))));
  (void)reduction.answer(millis(10), sign_at(millis(1)), kWindow, kHalf, true);
  reduction.on_ack(millis(9));
  reduction.on_ack(millis(12));
  EXPECT_FALSE(reduction.timeout_persists(millis(30), timeout_at(millis(13))));
}

TEST(Reduction, AnAcknowledgementOfWhatWasSentBeforeATimeoutDoesNot) {
  Reduction reduction;
  EXPECT_FALSE(reduction.timeout_persists(millis(10), timeout_at(millis(1))));
  (void)reduction.answer(millis(10), sign_at(millis(1)), kWindow, kHalf, true);
  reduction.on_ack(millis(9));
  EXPECT_TRUE(reduction.timeout_persists(millis(30), timeout_at(millis(13))));
}

}  // namespace
}  // namespace heddle::transport
