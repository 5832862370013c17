// The overview of a site: from what monitors publish to jobs and faults that begin and end.
#include "monitor/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "monitor/params.h"
#include "monitor/publication.h"

namespace heddle::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = OverviewEvent::Kind;

Alarm alarm(uint64_t number) {
  Alarm made;
  made.number = number;
  made.verdict.what = insight::VerdictClass::kCommunicationSlow;
  made.verdict.summary = "data from h1 is late";
  made.verdict.confidence = 0.9;
  made.place = "NIC of h1 (sending)";
  return made;
}

// A monitor of one job.
class Publishing {
 public:
  explicit Publishing(const std::string& name, int64_t run_ns = 1)
      : publication_("site", {.name = name, .host = "head", .folder = "/" + name, .run_ns = run_ns},
                     seconds(2)) {}

  messaging::Message state(const std::vector<Alarm>& lasting, bool over = false,
                           bool last = false) {
    WatchDocument document{.job = "job", .state = {}, .hosts = {}};
    document.state.processes = {{"0", "h0", 0}, {"1", "h1", 1}};
    document.state.lasting = lasting;
    document.state.over = over;
    return publication_.state(document, {}, last);
  }
  messaging::Message change(bool raised, uint64_t number) {
    AlarmChange made{raised, alarm(number)};
    if (!raised) made.alarm.cleared_ns = 5;
    return publication_.change(made, {});
  }

 private:
  Publication publication_;
};

class OverviewTest : public ::testing::Test {
 protected:
  std::vector<Kind> take(const messaging::Message& message) {
    return kinds_of(overview_.take(message.subject, message.text, now_));
  }
  std::vector<Kind> after(Nanos span) {
    now_ = now_ + span;
    return kinds_of(overview_.tick(now_));
  }
  static std::vector<Kind> kinds_of(const std::vector<OverviewEvent>& events) {
    std::vector<Kind> kinds;
    for (const OverviewEvent& each : events) kinds.push_back(each.kind);
    return kinds;
  }
  const OverviewJob& only() const { return overview_.jobs().begin()->second; }

  Overview overview_;
  Nanos now_ = seconds(1000);
};

TEST_F(OverviewTest, AJobAppearsWithItsFaultsAndEnds) {
  Publishing job("a");
  EXPECT_THAT(take(job.state({})), ElementsAre(Kind::kAppeared));
  EXPECT_EQ(only().last.running, 2U);
  EXPECT_THAT(take(job.change(true, 1)), ElementsAre(Kind::kRaised));
  EXPECT_THAT(take(job.state({alarm(1)})), IsEmpty());
  EXPECT_EQ(only().alarms.at(1).summary, "data from h1 is late");
  EXPECT_THAT(take(job.change(false, 1)), ElementsAre(Kind::kCleared));
  EXPECT_THAT(take(job.state({})), IsEmpty());
  EXPECT_THAT(take(job.state({}, true, true)), ElementsAre(Kind::kOver));
  EXPECT_THAT(after(params::kForgetOver), ElementsAre(Kind::kGone));
  EXPECT_TRUE(overview_.jobs().empty());
}

TEST_F(OverviewTest, ChangesThatWereLostFollowFromTheState) {
  Publishing job("a");
  EXPECT_THAT(take(job.state({alarm(1), alarm(2)})),
              ElementsAre(Kind::kAppeared, Kind::kRaised, Kind::kRaised));
  EXPECT_THAT(take(job.state({alarm(2)})), ElementsAre(Kind::kCleared));
  EXPECT_EQ(overview_.lasting_alarms(), 1U);
}

TEST_F(OverviewTest, AnOlderMessageThatComesLaterChangesNothing) {
  Publishing job("a");
  const messaging::Message before = job.state({});
  EXPECT_THAT(take(job.change(true, 1)), ElementsAre(Kind::kAppeared, Kind::kRaised));
  EXPECT_THAT(take(before), IsEmpty());
  EXPECT_EQ(only().alarms.size(), 1U);
}

TEST_F(OverviewTest, ASilentMonitorIsStaleWithinSeconds) {
  Publishing job("a");
  take(job.state({alarm(1)}));
  EXPECT_THAT(after(seconds(5)), IsEmpty());
  EXPECT_THAT(after(seconds(1)), ElementsAre(Kind::kStale));
  EXPECT_EQ(only().state, JobState::kStale);
  EXPECT_THAT(take(job.state({alarm(1)})), ElementsAre(Kind::kBack));
  EXPECT_THAT(after(seconds(6)), ElementsAre(Kind::kStale));
  EXPECT_THAT(after(params::kForgetStale), ElementsAre(Kind::kGone));
}

TEST_F(OverviewTest, ANewMonitorOfTheJobTakesItsPlace) {
  Publishing first("a", 1);
  Publishing second("a", 2);
  take(first.state({alarm(1)}));
  EXPECT_THAT(take(second.state({})), ElementsAre(Kind::kCleared));
  EXPECT_THAT(take(first.state({alarm(1)})), IsEmpty());
  EXPECT_EQ(overview_.jobs().size(), 1U);
}

TEST_F(OverviewTest, AMonitorThatWasEndedIsNotStale) {
  Publishing job("a");
  take(job.state({}));
  EXPECT_THAT(take(job.state({}, false, true)), ElementsAre(Kind::kStopped));
  EXPECT_THAT(after(seconds(30)), IsEmpty());
}

TEST_F(OverviewTest, OtherMessagesAreCounted) {
  EXPECT_THAT(kinds_of(overview_.take("site.a.1.state", "{}", now_)), IsEmpty());
  EXPECT_THAT(kinds_of(overview_.take("site.a.1.state", "\xff[", now_)), IsEmpty());
  EXPECT_THAT(kinds_of(overview_.take("site.a.1.other", "{}", now_)), IsEmpty());
  const std::string deep(100'000, '[');
  EXPECT_THAT(kinds_of(overview_.take("site.a.1.change", deep, now_)), IsEmpty());
  EXPECT_EQ(overview_.not_read(), 4U);
}

TEST_F(OverviewTest, JobsAndFaultsAreBounded) {
  Publishing job("many");
  for (uint64_t number = 1; number <= 1000; ++number) take(job.change(true, number));
  EXPECT_EQ(only().alarms.size(), params::kMostPublishedAlarms);
  EXPECT_FALSE(only().all_alarms);
  for (size_t i = 1; i <= params::kMostJobs; ++i) take(Publishing(std::to_string(i)).state({}));
  EXPECT_EQ(overview_.jobs().size(), params::kMostJobs);
  EXPECT_EQ(overview_.not_read(), 1U);
}

}  // namespace
}  // namespace heddle::monitor
