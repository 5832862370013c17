// Tests of the generated event types and of the sinks.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/nanos.h"
#include "events/counting_sink.h"
#include "events/events.h"
#include "events/locked_sink.h"
#include "events/memory_sink.h"
#include "events/tee_sink.h"

namespace heddle::events {
namespace {

BurstLost lost_burst(int64_t time_ns, LossCause cause) {
  return {.time = nanos(time_ns),
          .connection = 7,
          .path = 3,
          .first_number = 100,
          .segments = 2,
          .cause = cause};
}

TEST(EventText, IsOneLineOfJsonWithNamesAndUnits) {
  EXPECT_EQ(to_text(lost_burst(5, LossCause::kTimeout)),
            R"({"event":"burst_lost","time_ns":5,"connection":7,"path":3,"first_number":100,)"
            R"("segments":2,"cause":"timeout"})");
  EXPECT_EQ(to_text(BurstSent{.time = nanos(1), .retransmission = true}),
            R"({"event":"burst_sent","time_ns":1,"connection":0,"path":0,"first_number":0,)"
            R"("segments":0,"bytes":0,"retransmission":true})");
  EXPECT_NE(to_text(AckReceived{.rtt = micros(2)}).find(R"("rtt_ns":2000)"), std::string::npos);
}

TEST(EventNames, CoverEveryValueAndNoOther) {
  EXPECT_EQ(name_of(DropReason::kBadLength), "bad_length");
  EXPECT_EQ(name_of(EventKind::kWindowChanged), "window_changed");
  EXPECT_EQ(name_of(static_cast<DropReason>(kDropReasonCount)), "?");
}

TEST(Sink, IgnoresEventsThatItDoesNotOverride) {
  struct OnlyLosses : Sink {
    using Sink::on;
    void on(const BurstLost&) override { ++losses; }
    int losses = 0;
  };
  OnlyLosses sink;
  sink.on(BurstSent{});
  sink.on(lost_burst(1, LossCause::kGap));
  EXPECT_EQ(sink.losses, 1);
}

TEST(LockedSink, PassesTheEventsOfSeveralThreadsWithRisingTimes) {
  MemorySink memory;
  LockedSink locked(memory);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&locked, thread] {
      for (int64_t i = 0; i < 200; ++i) locked.on(lost_burst(10 * i + thread, LossCause::kGap));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(memory.total(), 600U);
  Nanos latest;
  for (const BurstLost& event : memory.all<BurstLost>()) {
    EXPECT_GE(event.time, latest);
    latest = event.time;
  }
  EXPECT_EQ(latest, nanos(1992));
}

TEST(LockedSink, ALaterTimeMovesNoSpan) {
  MemorySink memory;
  LockedSink locked(memory);
  locked.on(lost_burst(500, LossCause::kGap));
  locked.on(WireBin{.time = nanos(300), .ago = nanos(100)});
  const WireBin bin = memory.all<WireBin>().at(0);
  EXPECT_EQ(bin.time, nanos(500));
  EXPECT_EQ(bin.time - bin.ago, nanos(200));
}

TEST(TeeSink, WantsTheUnionOfItsSinksKinds) {
  struct Wanting : Sink {
    explicit Wanting(EventKind kind) { kinds.add(kind); }
    KindSet wanted() const override { return kinds; }
    KindSet kinds;
  };
  Wanting losses(EventKind::kBurstLost);
  Wanting drops(EventKind::kSegmentDropped);
  const TeeSink both{&losses, &drops};
  EXPECT_TRUE(both.wanted().has(EventKind::kBurstLost));
  EXPECT_TRUE(both.wanted().has(EventKind::kSegmentDropped));
  EXPECT_FALSE(both.wanted().has(EventKind::kBurstSent));
  EXPECT_FALSE(TeeSink().wanted().has(EventKind::kBurstLost));
  EXPECT_TRUE(Sink().wanted().has(EventKind::kBurstSent));
}

TEST(CountingSink, CountsKindsAndValuesSeparately) {
  CountingSink sink;
  sink.on(SegmentDropped{.reason = DropReason::kChecksum});
  sink.on(SegmentDropped{.reason = DropReason::kChecksum});
  sink.on(lost_burst(1, LossCause::kGap));
  EXPECT_EQ(sink.count(EventKind::kSegmentDropped), 2U);
  EXPECT_EQ(sink.count(EventKind::kBurstLost), 1U);
  EXPECT_EQ(sink.count(EventKind::kBurstSent), 0U);
  EXPECT_EQ(sink.count(DropReason::kChecksum), 2U);
  EXPECT_EQ(sink.count(DropReason::kBadLength), 0U);
  EXPECT_EQ(sink.count(LossCause::kGap), 1U);
  // The enums' ranges in the array do not overlap.
  EXPECT_EQ(sink.count(LossCause::kTimeout), 0U);
  sink.reset();
  EXPECT_EQ(sink.count(DropReason::kChecksum), 0U);
}

TEST(MemorySink, KeepsTheLastEventsInOrder) {
  MemorySink sink(2);
  for (int64_t i = 1; i <= 3; ++i) sink.on(lost_burst(i, LossCause::kGap));
  EXPECT_EQ(sink.total(), 3U);
  const auto kept = sink.all<BurstLost>();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0], lost_burst(2, LossCause::kGap));
  EXPECT_EQ(kept[1].time, nanos(3));
  EXPECT_TRUE(sink.all<BurstSent>().empty());
  ASSERT_EQ(sink.texts().size(), 2U);
  EXPECT_EQ(sink.texts()[1], to_text(kept[1]));
}

TEST(TeeSink, PassesEveryEventToAllSinks) {
  CountingSink counts;
  MemorySink memory;
  TeeSink tee{&counts, &memory};
  Sink& sink = tee;
  sink.on(PathChanged{.path = 4, .state = PathState::kSuspect});
  sink.on(Recovery{.step = RecoveryStep::kTailProbe});
  EXPECT_EQ(counts.count(RecoveryStep::kTailProbe), 1U);
  EXPECT_EQ(counts.count(PathState::kSuspect), 1U);
  EXPECT_EQ(memory.total(), 2U);
}

TEST(EventText, ANameOfArbitraryBytesIsValidJson) {
  const Mark mark{nanos(1), Text("a\"b\\\n\x80z"), 3};
  EXPECT_EQ(to_text(mark), R"({"event":"mark","time_ns":1,"name":"a\"b\\??z","step":3})");
}

}  // namespace
}  // namespace heddle::events
