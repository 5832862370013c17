// What is published of a job: subjects, sizes, and what its readers find again.
#include "monitor/publication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "monitor/params.h"
#include "monitor/published_reader.h"

namespace heddle::monitor {
namespace {

using ::testing::StartsWith;

PublishedJob job(const std::string& name) {
  return {.name = name, .host = "head", .folder = "/scratch/" + name, .run_ns = 5};
}

WatchDocument document_of(size_t processes) {
  WatchDocument made{.job = "job", .state = {}, .hosts = {}};
  for (size_t i = 0; i < processes; ++i) {
    made.state.processes.push_back(
        {.name = std::to_string(i), .host = "host", .rank = static_cast<int64_t>(i)});
  }
  return made;
}

TEST(Publication, SubjectsNameTheJob) {
  Publication publication("site.a", job("my.job"), seconds(2));
  const messaging::Message state = publication.state(document_of(1), {}, false);
  EXPECT_EQ(state.subject, "site.a.my%2Ejob." + job("my.job").id() + ".state");
  EXPECT_NE(job("one").id(), job("other").id());
  EXPECT_TRUE(state.newest_only);
  EXPECT_TRUE(publication.change({}, {}).important);
}

TEST(Publication, AChangeHasTheFieldsOfTheLine) {
  AlarmChange change;
  change.alarm.number = 3;
  change.alarm.place = "rank 3 on h1";
  const WatchState state;
  Publication publication("site", job("a"), seconds(2));
  const Json published = Json::parse(publication.change(change, state).text);
  const Json line = json_of(change, state);
  for (const auto& [key, value] : line.items()) EXPECT_EQ(published.at(key), value) << key;
}

TEST(Publication, AStateOfManyIsBounded) {
  WatchDocument document = document_of(20'000);
  for (uint64_t number = 1; number <= 10'000; ++number) {
    Alarm alarm;
    alarm.number = number;
    alarm.verdict.summary = std::string(300, 'x');
    document.state.lasting.push_back(alarm);
  }
  document.state.notes.assign(1'000, std::string(300, 'x'));
  document.hosts.assign(2'000, {.name = "h", .complaint = std::string(300, 'x')});
  Publication publication("site", job("a"), seconds(2));
  const std::string text = publication.state(document, {}, false).text;
  EXPECT_LT(text.size(), size_t{200'000});
  const auto read = read_published_state(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->running, 20'000U);
  EXPECT_EQ(read->alarms_lasting, 10'000U);
  EXPECT_EQ(read->alarms.size(), params::kMostPublishedAlarms);
  EXPECT_EQ(read->hosts_not_heard, 2'000U);
  EXPECT_EQ(read->every, seconds(2));
}

TEST(Publication, SeriesOfManyRanksAreSeveralMessages) {
  const WatchDocument document = document_of(1'200);
  SeriesInterval interval{.from_ns = 1, .until_ns = 9};
  interval.processes.resize(1'200);
  interval.processes[700].figures.exposed_ns = 77;
  Publication publication("site", job("a"), seconds(2));
  const auto messages = publication.series(document, interval);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_THAT(messages[1].subject, StartsWith("site.a."));
  EXPECT_TRUE(messages[1].subject.ends_with(".series.500"));
  const Json second = Json::parse(messages[1].text);
  EXPECT_EQ(second["first"], 500);
  EXPECT_EQ(second["processes"], 1'200);
  EXPECT_EQ(second["series"].size(), 500U);
  EXPECT_EQ(second["series"][200]["exposed_ns"], 77);
  EXPECT_TRUE(second["series"][200]["call_ns_p50"].is_null());
  EXPECT_LT(messages[1].text.size(), size_t{1} << 19);
}

}  // namespace
}  // namespace heddle::monitor
