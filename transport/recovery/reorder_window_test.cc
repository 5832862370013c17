// Behaviour of the reorder window: near zero at first, wider with each proof, narrower with quiet.
#include "transport/recovery/reorder_window.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

constexpr Nanos kStart = seconds(100);

TEST(ReorderWindowTest, StartsNearZero) {
  const ReorderWindow window;
  EXPECT_LE(window.numbers(), 3u);
  EXPECT_EQ(window.time(), Nanos{});
}

TEST(ReorderWindowTest, CoversWhatProvedLateOnce) {
  ReorderWindow window;
  window.widen(kStart, 9, micros(300), millis(1));
  EXPECT_GE(window.numbers(), 9u);
  EXPECT_GE(window.time(), micros(300));
}

TEST(ReorderWindowTest, EachProofAtLeastDoublesTheTime) {
  ReorderWindow window;
  window.widen(kStart, 1, micros(1), millis(10));
  Nanos before = window.time();
  EXPECT_GT(before, Nanos{});
  for (int i = 0; i < 5; ++i) {
    window.widen(kStart, 1, micros(1), millis(10));
    EXPECT_GE(window.time(), before * 2);
    before = window.time();
  }
}

TEST(ReorderWindowTest, TheLimitBoundsTheTime) {
  ReorderWindow window;
  for (int i = 0; i < 50; ++i) window.widen(kStart, 1, seconds(1), millis(2));
  EXPECT_EQ(window.time(), millis(2));
}

TEST(ReorderWindowTest, TheNumbersAreBounded) {
  ReorderWindow window;
  window.widen(kStart, UINT64_MAX, micros(1), millis(1));
  EXPECT_LE(window.numbers(), 64u);
  EXPECT_GE(window.numbers(), 64u);
}

TEST(ReorderWindowTest, ANearerOneDoesNotNarrowTheNumbers) {
  ReorderWindow window;
  window.widen(kStart, 30, micros(1), millis(1));
  window.widen(kStart, 4, micros(1), millis(1));
  EXPECT_EQ(window.numbers(), 30u);
}

TEST(ReorderWindowTest, QuietBringsItBackToItsStart) {
  ReorderWindow window;
  window.widen(kStart, 40, millis(1), millis(8));
  const Nanos wide = window.time();
  window.relax(kStart + seconds(1));
  EXPECT_EQ(window.time(), wide);  // not quiet for long enough yet
  Nanos now = kStart;
  for (int i = 0; i < 20; ++i) window.relax(now += seconds(10));
  EXPECT_EQ(window.time(), Nanos{});
  EXPECT_EQ(window.numbers(), ReorderWindow().numbers());
}

TEST(ReorderWindowTest, NarrowsByStepsNotAtOnce) {
  ReorderWindow window;
  window.widen(kStart, 40, millis(1), millis(8));
  const Nanos wide = window.time();
  window.relax(kStart + seconds(10));
  EXPECT_EQ(window.time(), wide / 2);
  EXPECT_EQ(window.numbers(), 20u);
  window.relax(kStart + seconds(11));  // the next step takes as long
  EXPECT_EQ(window.time(), wide / 2);
}

// Found by reading: without a time the window was never looked at again, and its numbers stayed.
TEST(ReorderWindowTest, TheNumbersNarrowWhenTheTimeIsGone) {
  ReorderWindow window;
  window.widen(kStart, 64, micros(20), millis(1));
  Nanos now = kStart;
  for (int i = 0; i < 20; ++i) window.relax(now += seconds(10));
  EXPECT_EQ(window.time(), Nanos{});
  EXPECT_EQ(window.numbers(), ReorderWindow().numbers());
}

}  // namespace
}  // namespace heddle::transport
