// What congestion control, pacing and path choice cost for each acknowledgement and each burst.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "transport/congestion/pacer.h"
#include "transport/congestion/registry.h"
#include "transport/path/round_trip.h"
#include "transport/path/selector.h"

namespace heddle::transport {
namespace {

// One acknowledgement of a burst; one loss in a thousand.
void acknowledge(benchmark::State& state, std::string_view name) {
  const auto controller = make_controller(
      name, {.segment = {1'500}, .initial_window = {150'000}, .limit = {64'000'000}});
  Nanos now = seconds(1);
  AckSample sample{
      .acked = {64'000}, .rtt = micros(100), .min_rtt = micros(90), .smoothed_rtt = micros(100)};
  uint32_t count = 0;
  for (auto _ : state) {
    now += micros(5);
    sample.sent_at = now - sample.rtt;
    controller->on_ack(now, sample);
    if (++count % 1'000 == 0) {
      controller->on_loss(now, {.sent_at = now, .lost = {1'500}, .smoothed_rtt = sample.rtt});
    }
    benchmark::DoNotOptimize(controller->pacing_rate());
  }
}
BENCHMARK_CAPTURE(acknowledge, cubic, "cubic");
BENCHMARK_CAPTURE(acknowledge, swift, "swift");
BENCHMARK_CAPTURE(acknowledge, dctcp, "dctcp");

void pace_a_burst(benchmark::State& state) {
  Pacer pacer;
  Nanos now = seconds(1);
  BitsPerSec rate = gigabits_per_s(40);
  for (auto _ : state) {
    const Bytes allowed = pacer.allowance(now, rate, {1'500});
    if (allowed.count > 0) pacer.on_sent(now, {63'000}, rate);
    now += micros(10);
    rate.count += 1'000;
    benchmark::DoNotOptimize(pacer);
  }
}
BENCHMARK(pace_a_burst);

void choose_a_path(benchmark::State& state, std::string_view name) {
  const auto selector = make_selector(name);
  Random random(1);
  std::vector<PathSample> paths(static_cast<size_t>(state.range(0)));
  for (size_t i = 0; i < paths.size(); ++i) {
    paths[i].path = static_cast<uint16_t>(i);
    paths[i].latest_rtt = micros(100) + nanos(static_cast<int64_t>(random.below(20'000)));
  }
  for (auto _ : state) benchmark::DoNotOptimize(selector->select(paths, random));
}
BENCHMARK_CAPTURE(choose_a_path, two_choices, "two_choices")->Arg(8)->Arg(64)->Arg(256);
BENCHMARK_CAPTURE(choose_a_path, round_robin, "round_robin")->Arg(8)->Arg(64)->Arg(256);

void measure_a_round_trip(benchmark::State& state) {
  RoundTrip round_trip;
  Nanos now = seconds(1);
  for (auto _ : state) {
    now += micros(5);
    round_trip.add(now, micros(100) + nanos(now.count & 1'023), micros(3));
    benchmark::DoNotOptimize(round_trip);
  }
}
BENCHMARK(measure_a_round_trip);

}  // namespace
}  // namespace heddle::transport
