// Profiled: a folder into which the profiler records, and what insight makes of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "events/recording_reader.h"
#include "insight/matrix.h"
#include "insight/summary.h"
#include "insight/timeline.h"
#include "insight/traffic.h"

namespace heddle::nccl {

class Profiled : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-profiler-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("HEDDLE_RECORD", folder_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"HEDDLE_RECORD", "HEDDLE_NCCL_PROFILE", "HEDDLE_RANK"}) {
      unsetenv(name);
    }
    std::filesystem::remove_all(folder_);
  }

  static void profile(const char* level) { setenv("HEDDLE_NCCL_PROFILE", level, 1); }
  static void be_rank(int rank) { setenv("HEDDLE_RANK", std::to_string(rank).c_str(), 1); }

  std::vector<events::AnyEvent> all_events() const {
    std::vector<events::AnyEvent> found;
    each([&found](uint32_t, const events::RecordedEvent& event) { found.push_back(event.event); });
    return found;
  }
  template <typename Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const events::AnyEvent& event : all_events()) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }
  insight::Traffic traffic() const {
    insight::TrafficBuilder builder;
    each(
        [&builder](uint32_t process, const events::RecordedEvent& event) {
          builder.add(process, event.event, event.writer);
        },
        [&builder](const insight::Identity& identity) { builder.add_process(identity); });
    return builder.finish();
  }
  insight::Summary summary() const {
    insight::SummaryBuilder builder;
    each([&builder](uint32_t process,
                    const events::RecordedEvent& event) { builder.add(process, event.event); },
         [&builder](const insight::Identity& identity) { builder.add_process(identity); });
    return builder.finish();
  }
  std::vector<insight::Moment> timeline() const {
    std::vector<insight::Moment> moments;
    insight::TimelineBuilder builder(
        [&moments](const insight::Moment& moment) { moments.push_back(moment); });
    each([&builder](uint32_t process,
                    const events::RecordedEvent& event) { builder.add(process, event.event); },
         [&builder](const insight::Identity&) {
           builder.add_process([](int64_t at) { return at; });
         });
    builder.finish();
    return moments;
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      if (file.is_regular_file()) ++count;
    }
    return count;
  }

  std::string folder_;

 private:
  template <typename OnEvent>
  void each(const OnEvent& on_event) const {
    each(on_event, [](const insight::Identity&) {});
  }
  template <typename OnEvent, typename OnProcess>
  void each(const OnEvent& on_event, const OnProcess& on_process) const {
    uint32_t process = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      if (!file.is_regular_file()) continue;  // the folder of the machine's own recordings
      auto reader = events::RecordingReader::open(file.path());
      ASSERT_TRUE(reader.has_value()) << reader.error().message();
      on_process(reader->facts().identity);
      events::RecordedEvent event;
      while (reader->next(event)) on_event(process, event);
      EXPECT_TRUE(reader->sound());
      ++process;
    }
  }
};

}  // namespace heddle::nccl
