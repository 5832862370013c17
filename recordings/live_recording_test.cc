// What is read of recordings that are still written, and from when on nothing of them is missing.
#include "recordings/live_recording.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "events/recording.h"

namespace heddle::recordings {
namespace {

class LiveRecordingTest : public ::testing::Test {
 protected:
  LiveRecordingTest() : folder_(*TemporaryFolder::make("heddle-live")), live_({folder_.path()}) {
    auto made = events::Recording::create({.directory = folder_.path(),
                                           .most = mebibytes(1),
                                           .level = events::RecordLevel::kMessages,
                                           .identity = {{"host", "h0"}}});
    recording_ = *made;
    busy_ = recording_->add_writer();
    idle_ = recording_->add_writer();
  }

  struct Taken {
    uint32_t sequence = 0;
    int64_t at_ns = 0;
  };
  static void write(events::Recorder& recorder, uint32_t sequence) {
    events::MessageCompleted message;
    message.time = micros(sequence);
    message.sequence = sequence;
    recorder.on_any(message);
  }
  void write(uint32_t from, uint32_t to) {
    for (uint32_t sequence = from; sequence < to; ++sequence) write(*busy_, sequence);
  }
  std::vector<Taken> poll() {
    std::vector<Taken> all;
    live_.poll(now_ += seconds(1),
               [&all](size_t, const events::RecordedEvent& recorded, int64_t at) {
                 all.push_back({std::get<events::MessageCompleted>(recorded.event).sequence, at});
               });
    return all;
  }

  TemporaryFolder folder_;
  std::shared_ptr<events::Recording> recording_;
  std::shared_ptr<events::Recorder> busy_;
  std::shared_ptr<events::Recorder> idle_;
  LiveRecording live_;
  Nanos now_;
};

TEST_F(LiveRecordingTest, NothingIsMissingOfARingThatIsReadInTime) {
  for (uint32_t from = 0; from < 200'000; from += 5000) {
    write(from, from + 5000);
    EXPECT_EQ(poll().size(), 5000u);
  }
  EXPECT_EQ(live_.missed_events(0), 0u);
  EXPECT_EQ(live_.whole_from_ns(), INT64_MIN);
}

// A hang that began right after the ring had turned over was not judged: nothing counted as whole
// up to the newest event.
TEST_F(LiveRecordingTest, OfARingThatTurnedOverWhatIsLeftIsWhole) {
  write(*idle_, 0);
  write(1, 10);
  EXPECT_EQ(poll().size(), 10u);
  write(10, 200'000);
  const std::vector<Taken> left = poll();
  ASSERT_GT(live_.missed_events(0), 0u);
  size_t whole = 0;
  for (const Taken& each : left) whole += each.at_ns >= live_.whole_from_ns() ? 1 : 0;
  EXPECT_GT(whole, left.size() * 9 / 10);
  for (size_t i = left.size() - whole; i + 1 < left.size(); ++i) {
    ASSERT_EQ(left[i + 1].sequence, left[i].sequence + 1);
  }
}

// A thread that wrote nothing more keeps its first block.
TEST_F(LiveRecordingTest, AnIdleWritersBlockShowsNothingOfThoseThatWereOverwritten) {
  write(*idle_, 0);
  write(1, 200'000);
  const std::vector<Taken> left = poll();
  ASSERT_EQ(left.front().sequence, 0u);
  ASSERT_GT(left[1].sequence, 1u);
  EXPECT_EQ(live_.whole_from_ns(), left[1].at_ns);
  for (size_t i = 1; i + 1 < left.size(); ++i) {
    ASSERT_EQ(left[i + 1].sequence, left[i].sequence + 1);
  }
}

}  // namespace
}  // namespace heddle::recordings
