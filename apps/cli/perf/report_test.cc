// What perf prints and writes as JSON follows from what was measured.
#include "apps/cli/perf/report.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

measure::Measurement bandwidth() {
  measure::Measurement m;
  m.options = {.test = "bw", .message_bytes = 1 << 20, .window = 8, .duration = seconds(2)};
  m.complete = true;
  m.sent.messages = 1000;
  m.sent.payload_bytes = 1000ULL << 20;
  m.sent.began = seconds(1);
  m.sent.ended = seconds(3);
  m.counted = true;
  m.segments_sent = 2000;
  m.segments_retransmitted = 10;
  m.segments_retransmitted_spuriously = 3;
  m.segments_marked = 7;
  m.segment_bytes = 8932;
  m.path_shares = {{0, 300}, {1, 100}};
  m.cpu = millis(500);
  m.server = {{"cpu_seconds", 0.25}, {"received", {{"wrong_messages", 0}}}};
  return m;
}

TEST(Report, BandwidthAsJson) {
  const Json json = measurement_json(bandwidth());
  EXPECT_EQ(json["test"], "bw");
  EXPECT_DOUBLE_EQ(json["goodput_gbits_per_s"], 1000.0 * (1 << 20) * 8 / 2 * 1e-9);
  EXPECT_DOUBLE_EQ(json["goodput_gbytes_per_s"], 1000.0 * (1 << 20) / 2 * 1e-9);
  EXPECT_DOUBLE_EQ(json["cpu_seconds_per_gbyte"], 0.5 / (1000.0 * (1 << 20) * 1e-9));
  EXPECT_DOUBLE_EQ(json["server_cpu_seconds_per_gbyte"], 0.25 / (1000.0 * (1 << 20) * 1e-9));
  EXPECT_DOUBLE_EQ(json["paths"][0]["share"], 0.75);
  EXPECT_EQ(json["segments_retransmitted"], 10);
  EXPECT_EQ(json["segments_marked"], 7);
  EXPECT_EQ(json["nics"],
            (Json::array({{{"nic", 0}, {"peer_nic", 0}, {"payload_bytes", 400}, {"share", 1.0}}})));
}

TEST(Report, BytesOfEachPairOfNics) {
  measure::Measurement m = bandwidth();
  m.path_shares = {{0, 300, 0, 0}, {1, 100, 1, 1}, {2, 400, 0, 0}};
  const Json json = measurement_json(m);
  EXPECT_EQ(json["paths"][1]["nic"], 1);
  EXPECT_EQ(json["nics"][0]["payload_bytes"], 700);
  EXPECT_DOUBLE_EQ(json["nics"][1]["share"], 0.125);
  EXPECT_NE(measurement_text(m).find("0 to 0: 87.5 %   1 to 1: 12.5 %"), std::string::npos);
}

TEST(Report, BandwidthAsText) {
  const std::string text = measurement_text(bandwidth());
  EXPECT_NE(text.find("goodput          = 4.19 Gb/s   524 MB/s\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1,000 of 1 MiB in 2.00 s, 8 in flight"), std::string::npos) << text;
  EXPECT_NE(text.find("0.500 %   10 of 2,000 segments, 3 of them needless"), std::string::npos);
  EXPECT_NE(text.find("2: 75.0 25.0 %"), std::string::npos) << text;
}

TEST(Report, InterruptedTestDoesNotNeedTheServer) {
  measure::Measurement m = bandwidth();
  m.complete = false;
  m.server = {};
  EXPECT_EQ(measurement_text(m).find("there"), std::string::npos);
  const Json json = measurement_json(m);
  EXPECT_TRUE(json["server_cpu_seconds_per_gbyte"].is_null());
  EXPECT_FALSE(json["complete"]);
  EXPECT_TRUE(wrong_text(m).empty());
  EXPECT_FALSE(sweep_row(m).empty());
}

TEST(Report, CountersThatWereNotReadAreUnknownAndNotZero) {
  measure::Measurement m = bandwidth();
  m.counted = false;
  const std::string text = measurement_text(m);
  for (const char* row : {"retransmitted", "paths", "segments"}) {
    EXPECT_NE(text.find(fmt::format("{:<16} = unknown\n", row)), std::string::npos) << text;
  }
  EXPECT_NE(sweep_row(m).find("unknown"), std::string::npos);
  const Json json = measurement_json(m);
  for (const char* name :
       {"segments_sent", "segments_retransmitted", "segments_retransmitted_spuriously",
        "segments_marked", "segment_bytes", "packet_bytes", "smoothed_rtt_us", "paths"}) {
    EXPECT_TRUE(json[name].is_null()) << name;
  }
}

TEST(Report, LatencyIsHalfTheRoundTrip) {
  measure::Measurement m;
  m.options = {.test = "lat", .message_bytes = 64};
  for (int i = 0; i < 1000; ++i) m.round_trips.add(micros(20));
  const Json json = measurement_json(m);
  EXPECT_NEAR(json["half_round_trip_us_p50"], 10, 0.1);
  EXPECT_NE(measurement_text(m).find("10.0 us p50   10.0 us p99   10.0 us p99.9"),
            std::string::npos)
      << measurement_text(m);
}

TEST(Report, LongLatenciesAreScaled) {
  measure::Measurement m;
  m.options = {.test = "lat", .message_bytes = 1 << 30};
  for (int i = 0; i < 1000; ++i) m.round_trips.add(seconds(2));
  const std::string text = measurement_text(m);
  EXPECT_NE(text.find(" s p50 "), std::string::npos) << text;
  EXPECT_EQ(text.find(" us"), std::string::npos) << text;
}

TEST(Report, WrongMessagesAreNamed) {
  measure::Measurement m = bandwidth();
  m.server["received"] = {{"wrong_messages", 2}, {"first_difference", "byte 5 of message 7"}};
  const std::string text = wrong_text(m);
  EXPECT_NE(text.find("2 messages of 1 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("byte 5 of message 7"), std::string::npos) << text;
}

TEST(Report, SettingTellsOfFewerPathsThanAsked) {
  EXPECT_EQ(setting_text({.peer = "h:1", .paths = 1, .paths_asked = 1, .congestion = "cubic"}),
            "h:1, 1 path, cubic\n");
  EXPECT_NE(setting_text({.peer = "h:1", .paths = 64, .paths_asked = 256}).find("256 asked"),
            std::string::npos);
}

TEST(Report, DocumentCarriesTheError) {
  const Error error{ErrorCode::kPeerDead, "the peer is gone", "it stopped answering", ""};
  const std::vector<measure::Measurement> done = {bandwidth()};
  const Json document = perf_document({.peer = "h:1", .paths = 2}, done, false, &error);
  EXPECT_EQ(document["error"]["what"], "the peer is gone");
  EXPECT_EQ(document["tests"].size(), 1U);
  EXPECT_FALSE(perf_document({}, {}, true, nullptr).contains("error"));
}

}  // namespace
}  // namespace heddle::cli
