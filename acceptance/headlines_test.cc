// Headlines: the worst pair, the bound, the latency, and what they say where figures are missing.
#include "acceptance/headlines.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::acceptance {
namespace {

constexpr size_t kPair = 0;
constexpr size_t kAllReduce = 1;
constexpr size_t kLatency = 2;

Report report_with(const std::string& stage, const std::string& key, const char* data) {
  Report report;
  report.stages.push_back({.name = stage, .title = ""});
  report.stages.back().data[key] = Json::parse(data);
  return report;
}

Headline headline(Report report, size_t which) {
  add_headlines(report);
  return report.headlines.at(which);
}

TEST(Headlines, ThePairWithTheLowestShareIsTheSlowest) {
  const Headline made = headline(report_with("pairs", "pairs", R"([
      {"from": "h0", "to": "h1", "goodput_bits_per_s": 90e9, "allowed_bits_per_s": 100e9},
      {"from": "h1", "to": "h2", "goodput_bits_per_s": 40e9, "allowed_bits_per_s": 80e9},
      {"from": "h2", "to": "h0", "goodput_bits_per_s": 9e9, "allowed_bits_per_s": 10e9}])"),
                                 kPair);
  EXPECT_EQ(made.value, "50%");
  EXPECT_EQ(made.note, "h1 to h2: 40.0 Gb/s of 80.0 Gb/s that its links carry");
}

// The first pair was named, whatever the others reached.
TEST(Headlines, OfPairsWithoutABoundTheLowestGoodputCounts) {
  const Headline made = headline(report_with("pairs", "pairs", R"([
      {"from": "h0", "to": "h1", "goodput_bits_per_s": 9e9, "allowed_bits_per_s": 0},
      {"from": "h1", "to": "h0", "goodput_bits_per_s": 4e9, "allowed_bits_per_s": 0}])"),
                                 kPair);
  EXPECT_EQ(made.value, "4.00 Gb/s");
  EXPECT_EQ(made.note, "h1 to h0: 4.00 Gb/s");
}

TEST(Headlines, TheLargestAllReduceIsAShareOfTheBound) {
  const char* const bounded = R"([{"bytes": 1024, "bus_bits_per_s": 1e9, "bound_bits_per_s": 4e9},
      {"bytes": 1048576, "bus_bits_per_s": 3e9, "bound_bits_per_s": 4e9}])";
  const Headline share = headline(report_with("collectives", "sizes", bounded), kAllReduce);
  EXPECT_EQ(share.value, "75%");
  EXPECT_EQ(share.note, "bus bandwidth of 1 MiB: 3.00 Gb/s of 4.00 Gb/s");
  const char* const unbounded = R"([{"bytes": 1024, "bus_bits_per_s": 1e9}])";
  const Headline rate = headline(report_with("collectives", "sizes", unbounded), kAllReduce);
  EXPECT_EQ(rate.value, "1.00 Gb/s");
  EXPECT_EQ(rate.note, "bus bandwidth of 1 KiB: 1.00 Gb/s");
}

// A pair whose test failed counted as 0 us.
TEST(Headlines, TheLatencyIsTheMedianOfPairsThatHaveOne) {
  const char* const pairs = R"([{"half_round_trip_us_p50": 0}, {"half_round_trip_us_p50": 0},
      {"half_round_trip_us_p50": 30}, {"half_round_trip_us_p50": 20},
      {"half_round_trip_us_p50": 40}])";
  const Headline made = headline(report_with("pairs", "pairs", pairs), kLatency);
  EXPECT_EQ(made.value, "30.0 us");
  EXPECT_EQ(made.note.find("incast"), std::string::npos);
  const char* const none = R"([{"half_round_trip_us_p50": 0}, {"from": "h0"}])";
  EXPECT_EQ(headline(report_with("pairs", "pairs", none), kLatency).value, "not measured");
}

TEST(Headlines, TheLatencyBesideAnIncastIsShownWhereThereIsOne) {
  Report report = report_with("pairs", "pairs", R"([{"half_round_trip_us_p50": 20}])");
  report.stages.push_back({.name = "stress", .title = ""});
  report.stages.back().data["victim"] = {{"half_round_trip_us_p99", 0}};
  EXPECT_EQ(headline(report, kLatency).note.find("incast"), std::string::npos);
  report.stages.back().data["victim"] = {{"half_round_trip_us_p99", 2'500}};
  EXPECT_NE(headline(report, kLatency).note.find("; beside an incast 2.50 ms at p99"),
            std::string::npos);
}

TEST(Headlines, WithoutDataNothingWasMeasured) {
  Report report;
  add_headlines(report);
  ASSERT_EQ(report.headlines.size(), 3U);
  for (const Headline& each : report.headlines) EXPECT_EQ(each.value, "not measured");
  report = report_with("pairs", "pairs", "[]");
  add_headlines(report);
  for (const Headline& each : report.headlines) EXPECT_EQ(each.value, "not measured");
}

}  // namespace
}  // namespace heddle::acceptance
