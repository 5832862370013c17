// The cost of recording an event, compared with a copy of as many bytes; and of reading events
// back.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "events/recording.h"
#include "events/recording_reader.h"
#include "events/stamp_clock.h"

namespace heddle::events {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::shared_ptr<Recording> record(Bytes most) const {
    auto made = Recording::create(
        {.directory = path_, .most = most, .level = RecordLevel::kSegments, .identity = {}});
    CHECK(made.has_value());
    return *made;
  }

 private:
  std::string path_;
};

BurstSent burst(int64_t i) { return {nanos(1000 * i), 7, 3, uint64_t(i), 44, 63'008, false}; }

void record_events(benchmark::State& state) {
  const Folder folder;
  const auto recorder = folder.record(mebibytes(16))->add_writer();
  Sink& sink = *recorder;
  int64_t i = 0;
  for (auto _ : state) sink.on(burst(++i));
}
BENCHMARK(record_events);

// Each event with its own time: from the processor's counter, and from the system's clock.
Nanos system_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

template <typename Time>
void record_stamped(benchmark::State& state, const Time& time) {
  const Folder folder;
  const auto recorder = folder.record(mebibytes(16))->add_writer();
  Sink& sink = *recorder;
  BurstSent event = burst(1);
  for (auto _ : state) {
    event.time = time();
    sink.on(event);
  }
}
void record_events_and_stamps(benchmark::State& state) {
  StampClock stamps(&system_clock);
  record_stamped(state, [&stamps] { return stamps.now(); });
  state.counters["off_ns"] = static_cast<double>(stamps.take_error().most.count);
}
void record_events_and_clock(benchmark::State& state) { record_stamped(state, &system_clock); }
BENCHMARK(record_events_and_stamps);
BENCHMARK(record_events_and_clock);

// The lower bound: copies a record's bytes into a ring of the same size.
void copy_bytes(benchmark::State& state) {
  std::vector<std::byte> ring(mebibytes(16).count);
  constexpr size_t kBytes = Recorder::bytes_of<BurstSent>();
  size_t at = 0;
  int64_t i = 0;
  for (auto _ : state) {
    const BurstSent event = burst(++i);
    std::memcpy(ring.data() + at, &event, kBytes);
    benchmark::DoNotOptimize(ring.data());
    at = at + 2 * kBytes < ring.size() ? at + kBytes : 0;
  }
}
BENCHMARK(copy_bytes);

void read_events(benchmark::State& state) {
  const Folder folder;
  const auto recording = folder.record(mebibytes(16));
  const auto recorder = recording->add_writer();
  for (int64_t i = 0; i < 500'000; ++i) recorder->on_any(burst(i));
  int64_t events = 0;
  for (auto _ : state) {
    auto reader = RecordingReader::open(recording->path());
    CHECK(reader.has_value());
    RecordedEvent event;
    while (reader->next(event)) ++events;
  }
  state.SetItemsProcessed(events);
}
BENCHMARK(read_events)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::events
