// What perf saves for the NCCL tuner follows from what was measured.
#include "measure/network_figures.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::measure {
namespace {

Measurement bandwidth(uint64_t message_bytes, uint64_t bytes_a_second) {
  Measurement measured;
  measured.options = {.test = "bw", .message_bytes = message_bytes};
  measured.complete = true;
  measured.sent.payload_bytes = 2 * bytes_a_second;
  measured.sent.began = seconds(1);
  measured.sent.ended = seconds(3);
  return measured;
}

Measurement latency(uint64_t message_bytes, Nanos round_trip) {
  Measurement measured;
  measured.options = {.test = "lat", .message_bytes = message_bytes};
  measured.complete = true;
  measured.round_trips.add(round_trip);
  return measured;
}

TEST(NetworkFigures, TheFastestRateAndTheLatencyOfTheSmallestMessagesCount) {
  const std::vector<Measurement> measured = {
      bandwidth(1 << 10, 1'000'000), bandwidth(1 << 20, 5'000'000'000), latency(1 << 20, millis(3)),
      latency(64, micros(40)), latency(4'096, micros(60))};
  const auto network = network_figures(measured, 1);
  ASSERT_TRUE(network.has_value()) << network.error().message();
  EXPECT_EQ(network->goodput, gigabits_per_s(40));
  EXPECT_EQ(network->connection_goodput, gigabits_per_s(40));
  EXPECT_NEAR(to_micros(network->one_way), 20, 0.2);
}

TEST(NetworkFigures, WithSeveralNicsTheGoodputOfOneConnectionIsUnknown) {
  const std::vector<Measurement> measured = {bandwidth(1 << 20, 5'000'000'000),
                                             latency(64, micros(40))};
  EXPECT_EQ(network_figures(measured, 2).value().connection_goodput, BitsPerSec{});
}

TEST(NetworkFigures, AMissingOrIncompleteTestAndAnImpossibleFigureAreErrors) {
  std::vector<Measurement> measured = {bandwidth(1 << 20, 5'000'000'000)};
  EXPECT_FALSE(network_figures(measured, 1).has_value());
  EXPECT_FALSE(network_figures({}, 1).has_value());
  measured.push_back(latency(64, micros(40)));
  EXPECT_TRUE(network_figures(measured, 1).has_value());
  measured.back().complete = false;
  EXPECT_FALSE(network_figures(measured, 1).has_value());
  measured.back() = latency(64, seconds(30));
  EXPECT_FALSE(network_figures(measured, 1).has_value());
}

}  // namespace
}  // namespace heddle::measure
