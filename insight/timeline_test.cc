// Times of calls, waits and phases, from synthetic events.
#include "insight/timeline.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

using events::CallEnded;
using events::CallMade;
using events::CallStarted;
using events::ElementType;
using events::Operation;

class TimelineTest : public ::testing::Test {
 protected:
  void make(Nanos at, uint32_t call) {
    builder_.add(
        0, CallMade{at, 9, call, call + 100, Operation::kAllreduce, ElementType::kFloat, 10, 0, 0});
  }
  void end(Nanos at, uint32_t call) { builder_.add(0, CallEnded{at, 9, call, true}); }

  std::vector<Moment> moments_;
  TimelineBuilder builder_{[this](const Moment& moment) { moments_.push_back(moment); }};
  uint32_t process_ = builder_.add_process(
      [](int64_t ns) { return static_cast<int64_t>(static_cast<uint64_t>(ns) + 5000); });
};

TEST_F(TimelineTest, OverlappingCallsAreOnDifferentRows) {
  make(nanos(10), 1);
  make(nanos(20), 2);
  builder_.add(0, CallStarted{nanos(21), 9, 1, Operation::kAllreduce, events::Algorithm::kTree, 2,
                              2, 24, 1});
  end(nanos(30), 1);
  make(nanos(40), 3);
  end(nanos(50), 2);
  end(nanos(60), 3);
  ASSERT_EQ(moments_.size(), 3u);
  EXPECT_EQ(moments_[0].begin_ns, 5010);
  EXPECT_EQ(moments_[0].end_ns, 5030);
  EXPECT_EQ(moments_[0].algorithm, "tree");
  EXPECT_EQ(moments_[0].bytes, 40u);
  EXPECT_EQ(moments_[0].number, 101u);
  EXPECT_EQ(moments_[0].row, 0u);
  EXPECT_EQ(moments_[1].row, 1u);
  EXPECT_EQ(moments_[2].row, 0u);  // reused
}

TEST_F(TimelineTest, WaitsPhasesAndInstantEventsAreReported) {
  builder_.add(0, events::Mark{nanos(1), events::Text("forward"), 1});
  make(nanos(10), 1);
  builder_.add(0, events::WaitBegun{nanos(12), 9, 1});
  builder_.add(0, events::MessageCompleted{nanos(13), 1, 2, 1, 40, events::Direction::kReceived});
  builder_.add(0, events::BurstLost{nanos(14), 1, 0, 5, 3, events::LossCause::kGap});
  builder_.add(0, events::WaitEnded{nanos(15), 9, 1});
  builder_.add(0, events::Mark{nanos(20), events::Text("backward"), 1});
  builder_.finish();
  std::vector<std::string> names;
  for (const Moment& moment : moments_) names.push_back(moment.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"received", "3 segments lost: gap", "wait for allreduce",
                                      "forward 1", "allreduce", "backward 1"}));
  EXPECT_EQ(moments_[2].end_ns - moments_[2].begin_ns, 3);
  EXPECT_FALSE(moments_[4].ended);
  EXPECT_EQ(moments_[4].end_ns, 5020);
}

TEST_F(TimelineTest, CallsOfAnObservedLibraryAreWaitsUntilTheirReturn) {
  events::LibraryCall call{nanos(40), 9, events::Text("ncclCommInitRank"), 64, 2, nanos(30)};
  builder_.add(0, call);
  ASSERT_EQ(moments_.size(), 1u);
  EXPECT_EQ(moments_[0].kind, MomentKind::kWait);
  EXPECT_EQ(moments_[0].name, "ncclCommInitRank");
  EXPECT_EQ(moments_[0].begin_ns, 5010);
  EXPECT_EQ(moments_[0].end_ns, 5040);
  EXPECT_EQ(moments_[0].bytes, 64u);
  EXPECT_FALSE(moments_[0].ok);
}

TEST_F(TimelineTest, MessagesThroughSharedMemoryAreReported) {
  builder_.add(0, events::SharedMessageCompleted{nanos(13), 1, 2, 1, 40,
                                                 events::Direction::kReceived, false});
  ASSERT_EQ(moments_.size(), 1u);
  EXPECT_EQ(moments_[0].kind, MomentKind::kMessage);
  EXPECT_EQ(moments_[0].name, "received in shared memory");
  EXPECT_EQ(moments_[0].bytes, 40u);
}

TEST_F(TimelineTest, ArbitraryTimesAreAccepted) {
  make(Nanos{INT64_MAX}, 1);
  end(Nanos{INT64_MIN}, 1);
  end(nanos(1), 77);
  make(nanos(1), 2);
  make(nanos(1), 2);
  builder_.finish();
  for (const Moment& moment : moments_) EXPECT_GE(moment.end_ns, moment.begin_ns);
}

}  // namespace
}  // namespace heddle::insight
