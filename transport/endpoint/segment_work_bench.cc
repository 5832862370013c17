// What the transport's work on a segment costs, sender and receiver together, without system calls
// and without touching payload: 64 paths, acknowledgements, 0.1% loss, counters on. The budget is
// 250 ns a segment (DESIGN, section 7). Arguments: MTU; segments that arrive as one run, at most;
// bytes of a message.
//   build/release/bin/transport_bench --benchmark_filter=segment_work
//   bench/run transport    # with rounds, and instructions by callgrind
// The time of an iteration is that of one segment; the column ns/segment repeats it with the
// harness's share (it copies each header once) included.
#include <benchmark/benchmark.h>

#include "events/counting_sink.h"
#include "transport/testing/header_wire.h"

namespace heddle::transport {
namespace {

using testing::HeaderWire;
using testing::HeaderWireOptions;

constexpr uint32_t kIpUdpHeaders = 28;
constexpr uint64_t kWarmUpSegments = 200'000;

HeaderWireOptions options_of(const benchmark::State& state) {
  HeaderWireOptions options;
  options.endpoint.max_datagram_bytes = static_cast<uint32_t>(state.range(0)) - kIpUdpHeaders;
  options.endpoint.default_paths = options.endpoint.max_paths = 64;
  options.endpoint.receive_capacity = mebibytes(4);
  options.coalesce = static_cast<uint32_t>(state.range(1));
  options.message_bytes = static_cast<uint32_t>(state.range(2));
  options.outstanding = options.message_bytes < 65536 ? 1024 : 16;
  options.loss_per_million = 1000;
  return options;
}

void segment_work(benchmark::State& state) {
  std::array<events::CountingSink, 2> sinks;
  HeaderWireOptions options = options_of(state);
  options.sinks = {&sinks[0], &sinks[1]};
  HeaderWire wire(options);
  wire.run_segments(kWarmUpSegments);
  const uint64_t segments_before = wire.segments_sent();
  const uint64_t bursts_before = wire.bursts_sent();
  const uint64_t control_before = wire.control_sent();
  const Nanos began = wire.now();
  while (state.KeepRunningBatch(10'000)) wire.run_segments(10'000);
  const auto segments = static_cast<double>(wire.segments_sent() - segments_before);
  state.counters["segments/burst"] =
      segments / static_cast<double>(wire.bursts_sent() - bursts_before);
  state.counters["control/segment"] =
      static_cast<double>(wire.control_sent() - control_before) / segments;
  state.counters["repeats"] = static_cast<double>(wire.statistics(0).segments_retransmitted) /
                              static_cast<double>(wire.segments_sent());
  state.counters["virtual_ns/segment"] = static_cast<double>((wire.now() - began).count) / segments;
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"mtu", "run", "message"});
  for (const int64_t mtu : {9000, 1500}) {
    for (const int64_t run : {64, 1}) {
      for (const int64_t message : {1 << 20, 4096, 64}) benchmark->Args({mtu, run, message});
    }
  }
}
BENCHMARK(segment_work)->Apply(arguments);

}  // namespace
}  // namespace heddle::transport
