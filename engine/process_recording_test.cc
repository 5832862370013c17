// What a process records besides its endpoints' own events: marks, from any thread.
#include "engine/process_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "engine/testing/endpoint_pair.h"
#include "events/recording_reader.h"

namespace heddle::engine {
namespace {

class ProcessRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Options recorded() const {
    Options options;
    options.recording.directory = folder_;
    options.recording.clock = recording_clock;
    return options;
  }
  template <typename Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      auto reader = events::RecordingReader::open(file.path());
      EXPECT_TRUE(reader.has_value());
      EXPECT_TRUE(reader->facts().closed);
      events::RecordedEvent event;
      while (reader->next(event)) {
        if (const auto* one = std::get_if<Event>(&event.event)) found.push_back(*one);
      }
    }
    return found;
  }

  std::string folder_;
};

TEST_F(ProcessRecording, MarksOfAllThreadsAreRecorded) {
  {
    EndpointPair pair = make_endpoints(recorded());
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 3; ++thread) {
      threads.emplace_back([thread] {
        for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(mark("step", 100 * thread + i));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(mark("a name that is longer than what an event has room for", 7));
  }
  const auto marks = all<events::Mark>();
  ASSERT_EQ(marks.size(), 301u);
  uint64_t sum = 0;
  for (const events::Mark& each : marks) sum += each.step;
  EXPECT_EQ(sum, 299u * 300u / 2 + 7);
  EXPECT_EQ(marks.front().name.view(), "step");
  EXPECT_EQ(marks.back().name.view(), "a name that is longer than what ");
}

// Regression: a second endpoint recorded with the first one's settings and ignored its own.
TEST_F(ProcessRecording, OneDirectoryAllowsOneLevelSizeAndDurability) {
  const EndpointPair pair = make_endpoints(recorded());
  const auto refusal_of = [this](auto change) {
    Options options = recorded();
    change(options.recording);
    const auto [mine, theirs] = PipeDatapath::make_pair();
    const auto made = Endpoint::create(mine, options);
    return made ? "it is made" : made.error().message();
  };
  for (const std::string& refusal : {
           refusal_of([](auto& recording) { recording.level = events::RecordLevel::kBins; }),
           refusal_of([](auto& recording) { recording.most = mebibytes(3); }),
           refusal_of([](auto& recording) { recording.durable = seconds(5); }),
       }) {
    EXPECT_THAT(refusal, ::testing::HasSubstr("records there at level messages already"));
    EXPECT_THAT(refusal, ::testing::HasSubstr(folder_));
  }
  EXPECT_EQ(refusal_of([](auto&) {}), "it is made");
  EXPECT_EQ(refusal_of([](auto& recording) { recording.directory += "/other"; }), "it is made");
}

TEST_F(ProcessRecording, MarkReturnsFalseWithoutARecording) { EXPECT_FALSE(mark("step", 1)); }

TEST_F(ProcessRecording, EventsOfLayersAboveAreInTheEndpointsRecording) {
  {
    EndpointPair pair = make_endpoints(recorded());
    ASSERT_TRUE(pair.client->observed().has(events::EventKind::kCommunicatorMade));
    pair.client->observe(events::CommunicatorMade{{}, 5, 1, 2});
  }
  const auto made = all<events::CommunicatorMade>();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].size, 2u);
  EXPECT_GT(made[0].time.count, 0);
}

TEST_F(ProcessRecording, SeveralEnginesAreOneEndpoint) {
  {
    Options options = recorded();
    options.engines = 2;
    options.transport.accept = true;
    const auto recorded_end = Endpoint::open({.bind = "127.0.0.1"}, options).value();
    const auto peer = Endpoint::open({.bind = "127.0.0.1"}, {}).value();
    for (int i = 0; i < 4; ++i) {
      const Connection to = peer->connect(recorded_end->local_address()).value();
      ASSERT_TRUE(peer->wait_open(to, kTestPatience));
      ASSERT_TRUE(recorded_end->accept(kTestPatience));
    }
  }
  EXPECT_EQ(all<events::EndpointOpened>().size(), 1u);
  EXPECT_EQ(all<events::NicOpened>().size(), 1u);
  const auto opened = all<events::ConnectionOpened>();
  ASSERT_EQ(opened.size(), 4u);
  int of_first = 0;
  for (const events::ConnectionOpened& each : opened) of_first += each.connection % 2 == 0;
  EXPECT_EQ(of_first, 2) << "both engines record";
}

// Clock reads are 10 ms apart; a recording reports the error of every second.
TEST_F(ProcessRecording, CounterTimesMatchTheClockAndTheirErrorIsReported) {
  const Nanos began = recording_clock();
  {
    EndpointPair pair = make_endpoints(recorded());
    while (recording_clock() - began < millis(50)) {
      pair.client->observe(events::CommunicatorMade{{}, 5, 1, 2});
    }
  }
  const Nanos ended = recording_clock();
  const auto checks = all<events::StampsChecked>();
  Nanos last = began - micros(20);  // error bound of a clock read on a busy machine, with margin
  for (const events::CommunicatorMade& made : all<events::CommunicatorMade>()) {
    EXPECT_GE(made.time, last);
    last = made.time;
  }
  EXPECT_LE(last, ended + micros(20));
  if (checks.empty()) GTEST_SKIP() << "this processor has no counter that ticks evenly";
  EXPECT_GE(checks.front().looks, 1u);
  EXPECT_LE(checks.front().most, micros(20));
}

TEST_F(ProcessRecording, SeveralEnginesHaveTheCountersTimesToo) {
  const Nanos began = recording_clock();
  {
    Options options = recorded();
    options.engines = 2;
    const auto recorded_end = Endpoint::open({.bind = "127.0.0.1"}, options).value();
    do {
      recorded_end->observe(events::CommunicatorMade{{}, 5, 1, 2});
    } while (recording_clock() - began < millis(50));
  }
  const auto made = all<events::CommunicatorMade>();
  ASSERT_FALSE(made.empty());
  EXPECT_LE(made.back().time, recording_clock() + micros(20));
  const auto checks = all<events::StampsChecked>();
  if (checks.empty()) GTEST_SKIP() << "this processor has no counter that ticks evenly";
  EXPECT_GE(checks.front().looks, 1u);
}

TEST_F(ProcessRecording, NothingIsEmittedWithoutASink) {
  EndpointPair pair = make_endpoints(Options{});
  EXPECT_FALSE(pair.client->observed().has(events::EventKind::kCommunicatorMade));
  pair.client->observe(events::CommunicatorMade{{}, 5, 1, 2});
}

}  // namespace
}  // namespace heddle::engine
