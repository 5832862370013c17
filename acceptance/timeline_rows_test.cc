// Timeline rows: what is read of a CSV, and what is left out of a long one.
#include "acceptance/timeline_rows.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

constexpr const char* kCsv =
    "process,kind,name,begin_ns,end_ns,bytes,number,algorithm\n"
    "1,call,allreduce,1500,1900,64,1,ring\n"
    "0,call,allreduce,1000,2000,64,1,ring\n"
    "0,recovery,tail_probe,1100,1100,0,,\n"
    "0,wait,wait for allreduce,1200,1250,0,,\n"
    "0,call,broken,2000\n"
    "0,call,backwards,3000,2000,0,,\n";

TEST(TimelineRows, BeginWithTheFirstCallAndHaveOnlyCallsAndWaits) {
  const Timeline timeline = timeline_of_csv(kCsv, 10);
  ASSERT_EQ(timeline.moments.size(), 3U);
  EXPECT_EQ(timeline.moments[0].begin_ns, 0);
  EXPECT_EQ(timeline.moments[0].end_ns, 1000);
  EXPECT_TRUE(timeline.moments[1].is_wait);
  EXPECT_EQ(timeline.moments[2].process, 1U);
  EXPECT_EQ(timeline.span_ns, 1000);
  EXPECT_EQ(timeline.left_out, 0U);
}

TEST(TimelineRows, LeaveTheShortestOutOfALongRecording) {
  const Timeline timeline = timeline_of_csv(kCsv, 2);
  ASSERT_EQ(timeline.moments.size(), 2U);
  EXPECT_FALSE(timeline.moments[0].is_wait);
  EXPECT_FALSE(timeline.moments[1].is_wait);
  EXPECT_EQ(timeline.left_out, 1U);
}

TEST(TimelineRows, AreNoneOfARecordingWithoutCalls) {
  EXPECT_TRUE(timeline_of_csv("process,kind,name,begin_ns,end_ns\n", 2).moments.empty());
}

}  // namespace
}  // namespace heddle::acceptance
