// Writers that all of NCCL's threads share: none waits, and what finds no writer is reported.
#include "plugins/nccl/profiler/event_writers.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/process_recording.h"
#include "plugins/nccl/profiler/testing/profiled.h"

namespace heddle::nccl {
namespace {

class Writers : public Profiled {
 protected:
  void open() {
    auto made = engine::open_recording({.directory = folder_, .clock = &engine::recording_clock});
    ASSERT_TRUE(made.has_value()) << made.error().message();
    recording_ = *made;
    writers_.open(*recording_);
  }
  void close() {
    writers_.close();
    recording_.reset();
  }
  static events::Mark mark(Nanos now, uint64_t step) { return {now, events::Text("step"), step}; }

  EventWriters writers_{&engine::recording_clock};
  std::shared_ptr<events::Recording> recording_;
};

TEST_F(Writers, ClosedOnesReportThatNothingWasWritten) {
  const auto write = [this] { return writers_.write([](Nanos now) { return mark(now, 1); }); };
  EXPECT_FALSE(write());
  open();
  EXPECT_TRUE(write());
  close();
  EXPECT_FALSE(write());
  EXPECT_EQ(all<events::Mark>().size(), 1u);
}

TEST_F(Writers, WhenAllAreBusyAnEventIsDroppedAndNobodyWaits) {
  open();
  int depth = 0;
  // Each writer is taken while the one before is still held.
  const auto nest = [this, &depth](const auto& self) -> bool {
    return writers_.write([&](Nanos now) {
      ++depth;
      self(self);
      return mark(now, 1);
    });
  };
  EXPECT_TRUE(nest(nest));
  EXPECT_EQ(depth, 16);
  close();
  EXPECT_EQ(all<events::Mark>().size(), 16u);
}

TEST_F(Writers, EventsOfManyThreadsAreAllThereInOrderOfTime) {
  open();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([this, thread] {
      for (uint64_t i = 0; i < 2000; ++i) {
        EXPECT_TRUE(writers_.write([&](Nanos now) { return mark(now, thread * 2000 + i); }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  close();
  const auto marks = all<events::Mark>();
  ASSERT_EQ(marks.size(), 16'000u);
  for (size_t i = 1; i < marks.size(); ++i) EXPECT_LE(marks[i - 1].time, marks[i].time);
}

}  // namespace
}  // namespace heddle::nccl
