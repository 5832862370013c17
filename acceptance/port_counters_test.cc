// Port counters: lines and loads.
#include "acceptance/port_counters.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

PortCounters at(int64_t ms, uint64_t sent, uint64_t received) {
  PortCounters counters;
  counters.at = millis(ms);
  counters.sent.bytes = sent;
  counters.received.bytes = received;
  return counters;
}

TEST(PortCounters, ALineIsReadAsItWasWritten) {
  const PortCounters counters{millis(7), {1, 2, 3, 4}, {5, 6, 7, UINT64_MAX}};
  EXPECT_EQ(parse_port_counters(line_of(counters)), counters);
  for (const char* const line : {"", "1 2 3", "a b c d e f g h i", "1 2 3 4 5 6 7 8 9 10",
                                 "-9223372036854775808 1 2 3 4 5 6 7 8"}) {
    EXPECT_FALSE(parse_port_counters(line)) << line;
  }
}

TEST(PortCounters, AreThoseOfTheKernel) {
  const auto counters = read_port("lo");
  ASSERT_TRUE(counters) << counters.error().message();
  EXPECT_EQ(counters->sent.bytes, counters->received.bytes);
  EXPECT_FALSE(read_port("nothing0"));
}

TEST(PortLoad, TheHighestRateIsOverAWholeSpan) {
  PortLoad port;
  for (int ms = 0; ms <= 1000; ms += 50) {
    const int busy = std::clamp(ms - 400, 0, 200);  // 100 Mbit/s for 200 ms
    port.add(at(ms, static_cast<uint64_t>(busy) * 12'500, 0));
  }
  EXPECT_DOUBLE_EQ(port.load().forward.peak_bits_per_s, 100e6);
  EXPECT_DOUBLE_EQ(port.load().backward.peak_bits_per_s, 0);
  EXPECT_EQ(port.load().forward.bytes, 2'500'000u);
}

TEST(PortLoad, CountsFromTheRestartOn) {
  PortLoad port;
  for (int ms = 0; ms <= 500; ms += 50) port.add(at(ms, static_cast<uint64_t>(ms) * 1000, 9));
  port.restart();
  EXPECT_EQ(port.load().forward.bytes, 0u);
  EXPECT_DOUBLE_EQ(port.load().forward.peak_bits_per_s, 0);
  port.add(at(550, 510'000, 9));
  EXPECT_EQ(port.load().forward.bytes, 10'000u);
  EXPECT_EQ(port.total().forward.bytes, 510'000u);
}

TEST(PortLoad, CountersThatBeginAnewAreNoRate) {
  PortLoad port;
  port.add(at(0, 9'000'000, 0));
  port.add(at(200, 1'000, 0));
  EXPECT_DOUBLE_EQ(port.load().forward.peak_bits_per_s, 0);
  EXPECT_EQ(port.load().forward.bytes, 1'000u);
}

}  // namespace
}  // namespace heddle::acceptance
