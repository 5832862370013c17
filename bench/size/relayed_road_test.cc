// A session through two relays over a long cable, in the simulator: what `bench/run size distance`
// measures at length.
#include "bench/size/relayed_road.h"

#include <gtest/gtest.h>

namespace heddle::bench {
namespace {

RelayedRoad cable_of(int64_t kilometers) {
  RelayedRoad road;
  road.rate = gigabits_per_s(100);
  road.site_delay = micros(2);
  road.cable_delay = micros(5 * kilometers);
  road.mtu_bytes = 4096 + 82;
  road.message_bytes = uint64_t{1} << 20;
  road.outstanding = 16;
  road.relay_bytes = uint64_t{256} << 20;
  return road;
}

// With one socket for both of its sides a relay offered its sender half of the socket's capacity:
// 55 Gb/s beyond 40 km.
TEST(RelayedRoad, ARelaysSidesDoNotShareASocketsCapacity) {
  const Result<RoadResult> result = run_relayed(cable_of(100), 4);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_GT(result->goodput_bits_per_s, 90e9);
  EXPECT_EQ(result->retransmitted, 0U);
}

// 16 MiB in a round trip of 3 ms: relays do not shorten the round trip to the confirmation.
TEST(RelayedRoad, AWindowCountsForTheWholeDistance) {
  const Result<RoadResult> result = run_relayed(cable_of(300), 4);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_GT(result->goodput_bits_per_s, 36e9);
  EXPECT_LT(result->goodput_bits_per_s, 45e9);
}

TEST(RelayedRoad, AMeasurementWithoutAStartIsRefused) {
  const Result<RoadResult> result = run_relayed(cable_of(1), 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
}

TEST(RelayedRoad, TooLittleMemoryIsRefused) {
  RelayedRoad road = cable_of(1);
  road.relay_bytes = 1'000;
  const Result<RoadResult> result = run_relayed(road, 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace heddle::bench
