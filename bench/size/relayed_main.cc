// heddle-bench-relayed KM MESSAGE_BYTES OUTSTANDING SKIPPED RTT_US: one JSON document, goodput of a
// session over two relays in the simulator, 100 Gb/s. For `bench/run size distance`.
#include <fmt/core.h>

#include <cstdlib>
#include <vector>

#include "bench/size/relayed_road.h"

int main(int count, char** words) {
  using namespace heddle;
  if (count != 6) {
    fmt::print(stderr, "heddle-bench-relayed KM MESSAGE_BYTES OUTSTANDING SKIPPED RTT_US\n");
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
  constexpr int64_t kNanosOfKm = 5'000;
  bench::RelayedRoad road;
  road.rate = gigabits_per_s(100);
  // A message crosses four links of hosts and two of the cable, there and back.
  road.site_delay = nanos(static_cast<int64_t>(number(5)) * 1'000 / 6);
  road.cable_delay = nanos(static_cast<int64_t>(number(1)) * kNanosOfKm) + road.site_delay;
  road.mtu_bytes = 4096 + 82;
  road.message_bytes = number(2);
  road.outstanding = static_cast<uint32_t>(number(3));
  road.relay_bytes = uint64_t{256} << 20;
  const Result<bench::RoadResult> result =
      bench::run_relayed(road, static_cast<uint32_t>(number(4)));
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message());
    return 2;
  }
  fmt::print("{{\"gbits_per_s\": {}, \"most_held_bytes\": {}, \"retransmitted\": {}}}\n",
             result->goodput_bits_per_s / 1e9, result->most_held_bytes, result->retransmitted);
  return 0;
}
