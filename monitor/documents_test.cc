// What a watch shows: sentences, JSON and metrics.
#include "monitor/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace heddle::monitor {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kS = 1'000'000'000;

Alarm alarm(uint64_t number) {
  Alarm made;
  made.number = number;
  made.verdict.what = insight::VerdictClass::kCommunicationSlow;
  made.verdict.place = {insight::PlaceKind::kSenderNic, {1}, "h1"};
  made.verdict.since_ns = 3 * kS;
  made.verdict.confidence = 0.9;
  made.verdict.cost = 0.25;
  made.verdict.summary = "data from h1 is late";
  made.verdict.evidence = {"it takes twice as long"};
  made.verdict.action = "look at the NIC";
  made.place = "NIC of h1 (sending)";
  made.ranks = {"1"};
  made.raised_ns = 9 * kS;
  return made;
}

WatchDocument example() {
  WatchDocument document{.job = "job", .state = {}, .hosts = {}};
  WatchState& state = document.state;
  state.processes = {{"0", "h0", 0, 700, 0, 10 * kS, false, true},
                     {"1", "h1", 1, 600, 5, 9 * kS, false, false},
                     {"2", "h2", 2, 500, 0, 8 * kS, true, true}};
  for (WatchedProcess& each : state.processes) each.recent_calls = {kS / 9, kS / 8, kS / 7};
  state.lasting = {alarm(2)};
  state.past = {alarm(1)};
  state.past[0].cleared_ns = 12 * kS;
  state.alarms_raised = 2;
  state.operations = 40;
  state.now_ns = 20 * kS;
  document.hosts = {{"h0", true, 0.1, 1000, 1, ""}, {"h1", false, -1, 0, 0, "no route"}};
  return document;
}

TEST(WatchDocumentsTest, AChangeIsASentenceWithItsEvidence) {
  const std::string raised = text_of(AlarmChange{true, alarm(2)});
  for (const char* const part :
       {"alarm 2: communication_slow", "data from h1 is late", "since 3.000 s",
        "evidence: it takes twice as long", "try: look at the NIC"}) {
    EXPECT_THAT(raised, HasSubstr(part));
  }
  AlarmChange over{false, alarm(2)};
  over.alarm.cleared_ns = 14 * kS;
  EXPECT_EQ(text_of(over),
            "over: alarm 2, communication_slow of NIC of h1 (sending), after 5.0 s\n");
}

TEST(WatchDocumentsTest, JsonHasTheAlarmsProcessesAndHosts) {
  const Json json = json_of(example());
  EXPECT_EQ(json["alarms"][0]["place_text"], "NIC of h1 (sending)");
  EXPECT_TRUE(json["alarms"][0]["cleared_ns"].is_null());
  EXPECT_EQ(json["past_alarms"][0]["cleared_ns"], 12 * kS);
  EXPECT_EQ(json["processes"][1]["heard"], false);
  EXPECT_TRUE(json["hosts"][1]["heard_seconds_ago"].is_null());
  const Json change = json_of(AlarmChange{true, alarm(2)}, example().state);
  EXPECT_EQ(change["event"], "raised");
  EXPECT_EQ(change["processes"][0], "1");
}

TEST(WatchDocumentsTest, MetricsAreThoseOfTheReference) {
  const std::vector<metrics::Family> families = families_of(example());
  const auto text = metrics::exposition_of(families);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text,
              HasSubstr("heddle_monitor_processes{recording=\"job\",state=\"running\"} 1\n"));
  EXPECT_THAT(*text,
              HasSubstr("host=\"h1\",place=\"NIC of h1 (sending)\",recording=\"job\"} 0.25\n"));
  std::ifstream file("docs/reference/metrics.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const metrics::Family& each : families) {
    ASSERT_FALSE(each.samples.empty()) << each.name;
    std::string labels;
    for (const metrics::Label& label : each.samples.front().labels) {
      labels += (labels.empty() ? "`" : ", `") + label.name + "`";
    }
    const std::string row =
        "| `" + each.name + "` | " + name_of(each.type) + " | " + labels + " | " + each.help + " |";
    EXPECT_NE(page.find(row), std::string::npos) << "is not in it: " << row;
  }
}

}  // namespace
}  // namespace heddle::monitor
