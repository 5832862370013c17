// The purpose for which the bytes of a time span are counted.
#include "insight/traffic/under_way.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

constexpr auto kNone = std::nullopt;

TEST(UnderWay, ASpanBelongsToTheOnlyPurposeThatOverlapsIt) {
  UnderWay calls;
  EXPECT_EQ(calls.only(nanos(0), nanos(100)), kNone);
  calls.begin(1, 7, nanos(100));
  calls.end(1, nanos(200));
  calls.begin(2, 7, nanos(250));
  calls.end(2, nanos(300));
  EXPECT_EQ(calls.only(nanos(0), nanos(100)), kNone);
  EXPECT_EQ(calls.only(nanos(50), nanos(150)), 7u);
  EXPECT_EQ(calls.only(nanos(120), nanos(130)), 7u);
  EXPECT_EQ(calls.only(nanos(150), nanos(280)), 7u);  // two calls with the same purpose
  EXPECT_EQ(calls.only(nanos(200), nanos(250)), kNone);
  EXPECT_EQ(calls.only(nanos(290), nanos(400)), 7u);
  EXPECT_EQ(calls.only(nanos(300), nanos(400)), kNone);
}

TEST(UnderWay, ASpanWithSeveralPurposesBelongsToNone) {
  UnderWay calls;
  calls.begin(1, 7, nanos(100));
  calls.begin(2, 8, nanos(200));  // while the first is pending
  calls.end(1, nanos(300));
  EXPECT_EQ(calls.only(nanos(100), nanos(200)), 7u);
  EXPECT_EQ(calls.only(nanos(190), nanos(210)), kNone);
  EXPECT_EQ(calls.only(nanos(220), nanos(230)), kNone);
  EXPECT_EQ(calls.only(nanos(300), nanos(310)), 8u);
  calls.end(2, nanos(400));
  calls.begin(3, 9, nanos(450));
  EXPECT_EQ(calls.only(nanos(350), nanos(500)), kNone);  // one after the other
}

TEST(UnderWay, UnmatchedEndsAreIgnored) {
  UnderWay calls;
  calls.end(5, nanos(10));
  calls.begin(1, 7, nanos(100));
  calls.begin(1, 8, nanos(110));
  calls.end(1, nanos(200));
  calls.end(1, nanos(210));
  EXPECT_EQ(calls.only(nanos(100), nanos(300)), 7u);
  EXPECT_EQ(calls.only(nanos(200), nanos(300)), kNone);
}

TEST(UnderWay, ASpanBeforeTheOldestStretchBelongsToNone) {
  UnderWay calls;
  for (uint32_t call = 0; call < 1'000; ++call) {
    calls.begin(call, 7, nanos(10 * call));
    calls.end(call, nanos(10 * call + 5));
  }
  EXPECT_EQ(calls.only(nanos(9'900), nanos(10'000)), 7u);
  EXPECT_EQ(calls.only(nanos(0), nanos(10'000)), kNone);
}

}  // namespace
}  // namespace heddle::insight
