// The cost of recording an event for the recording thread: the mean over many, the share of slow
// ones, and the same with reading the clock. bench/run recording runs it, also under callgrind
// (--count: only this number of recordings).
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_recording.h"
#include "events/recording.h"
#include "events/stamp_clock.h"

namespace heddle {
namespace {

using events::Recorder;
using events::Recording;
using Clock = std::chrono::steady_clock;

// Number of recordings for the mean, and number of single ones for the slowest.
constexpr uint64_t kMany = 20'000'000;
constexpr uint64_t kSingly = 5'000'000;

double nanos_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

void record(Recorder& recorder, uint64_t number, Nanos now) {
  recorder.on_any(events::MessageCompleted{now, 7, 3, static_cast<uint32_t>(number), 65'536,
                                           events::Direction::kReceived});
}

template <typename Time>
double mean_ns(Recorder& recorder, const Time& time) {
  const Clock::time_point began = Clock::now();
  for (uint64_t i = 0; i < kMany; ++i) record(recorder, i, time(i));
  return nanos_between(began, Clock::now()) / static_cast<double>(kMany);
}

template <typename Time>
double time_ns(const Time& time) {
  int64_t sum = 0;
  const Clock::time_point began = Clock::now();
  for (uint64_t i = 0; i < kMany; ++i) sum += time(i).count & 1;
  const double took = nanos_between(began, Clock::now());
  return sum == 0 ? 0 : took / static_cast<double>(kMany);
}

// The time argument of an event within the loop: already known.
Nanos loops_time(uint64_t i) { return nanos(1000 * static_cast<int64_t>(i)); }

// Sorted; each includes reading the clock twice.
template <typename Time>
std::vector<double> each_ns(Recorder* recorder, const Time& time) {
  std::vector<double> took(kSingly);
  for (uint64_t i = 0; i < kSingly; ++i) {
    const Clock::time_point began = Clock::now();
    if (recorder != nullptr) record(*recorder, i, time(i));
    took[i] = nanos_between(began, Clock::now());
  }
  std::sort(took.begin(), took.end());
  return took;
}

std::string quantiles(const std::vector<double>& sorted) {
  const auto at = [&sorted](double part) {
    return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
  };
  return fmt::format(
      "{{\"p50\": {:.0f}, \"p99\": {:.0f}, \"p99.9\": {:.0f}, \"p99.99\": {:.0f}, "
      "\"max\": {:.0f}}}",
      at(0.5), at(0.99), at(0.999), at(0.9999), at(1));
}

int run(const std::string& folder, uint64_t count) {
  auto recording = Recording::create({.directory = folder, .identity = {}});
  if (!recording) {
    fmt::print(stderr, "error: {}\n", recording.error().message());
    return 2;
  }
  const std::unique_ptr<Recorder> recorder = (*recording)->add_writer();
  if (count > 0) {
    for (uint64_t i = 0; i < count; ++i) record(*recorder, i, loops_time(i));
    return 0;
  }
  events::StampClock stamps(&engine::recording_clock);
  const auto stamp = [&stamps](uint64_t) { return stamps.now(); };
  const auto clock = [](uint64_t) { return engine::recording_clock(); };
  mean_ns(*recorder, loops_time);  // writes every block once
  const double mean = mean_ns(*recorder, loops_time);
  const double with_clock = mean_ns(*recorder, clock);
  const double with_stamp = mean_ns(*recorder, stamp);
  const double stamp_alone = time_ns(stamp);
  fmt::print(
      "{{\"event_ns\": {:.2f}, \"event_and_stamp_ns\": {:.2f}, \"stamp_ns\": {:.2f}, "
      "\"stamps_off_ns\": {}, \"event_and_clock_ns\": {:.2f}, \"clock_ns\": {:.2f}, "
      "\"event_bytes\": {}, \"one_ns\": {}, \"one_stamped_ns\": {}, \"none_ns\": {}}}\n",
      mean, with_stamp, stamp_alone, stamps.take_error().most.count, with_clock, time_ns(clock),
      Recorder::bytes_of<events::MessageCompleted>(),
      quantiles(each_ns(recorder.get(), loops_time)), quantiles(each_ns(recorder.get(), stamp)),
      quantiles(each_ns(nullptr, loops_time)));
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  CLI::App app("what recording an event costs");
  std::string folder;
  uint64_t count = 0;
  app.add_option("folder", folder, "where to record; it is left there")->required();
  app.add_option("--count", count, "only record so many events, and say nothing");
  CLI11_PARSE(app, argc, argv);
  return heddle::run(folder, count);
}
