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
      : publication_("site", {.name = name,
                              .host = "head",
                              .folder = "/" + name,
                              .run_ns = run_ns,
                              .every = seconds(2)}) {}

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
    if (connected_) server_.answered_at = now_;
    return kinds_of(overview_.tick(now_, server_));
  }
  static std::vector<Kind> kinds_of(const std::vector<OverviewEvent>& events) {
    std::vector<Kind> kinds;
    for (const OverviewEvent& each : events) kinds.push_back(each.kind);
    return kinds;
  }
  const OverviewJob& only() const { return overview_.jobs().begin()->second; }

  Overview overview_;
  Nanos now_ = seconds(1000);
  bool connected_ = true;
  ServerHeard server_;
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

TEST_F(OverviewTest, WithoutItsOwnConnectionNoJobIsStaleOrGone) {
  Publishing job("a");
  Publishing dead("b");
  take(job.state({}));
  take(dead.state({}));
  EXPECT_THAT(after(seconds(6)), ElementsAre(Kind::kStale, Kind::kStale));
  EXPECT_THAT(take(job.state({})), ElementsAre(Kind::kBack));
  connected_ = false;
  EXPECT_THAT(after(seconds(5'000)), IsEmpty());
  connected_ = true;
  server_.connected_at = now_;
  EXPECT_THAT(after(params::kMonitorsReturn + seconds(5)), IsEmpty());
  EXPECT_THAT(after(seconds(1)), ElementsAre(Kind::kStale));
  EXPECT_EQ(overview_.jobs().size(), 2U);
  EXPECT_THAT(after(params::kForgetStale), ElementsAre(Kind::kGone, Kind::kGone));
}

TEST_F(OverviewTest, AStateThatIsSentAgainKeepsABusyMonitorAlive) {
  Publishing job("a");
  const messaging::Message state = job.state({});
  take(state);
  take(job.change(true, 1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(after(seconds(5)), IsEmpty());
    EXPECT_THAT(take(state), IsEmpty());
  }
  EXPECT_EQ(only().alarms.size(), 1U);
  EXPECT_THAT(after(seconds(6)), ElementsAre(Kind::kStale));
  EXPECT_THAT(take(state), ElementsAre(Kind::kBack));
  const messaging::Message last = job.state({}, false, true);
  EXPECT_THAT(take(last), ElementsAre(Kind::kCleared, Kind::kStopped));
  EXPECT_THAT(take(last), IsEmpty());
}

TEST_F(OverviewTest, AMonitorThatBeganEarlierIsCountedAndHeardOnceTheOtherIsGone) {
  Publishing first("a", 1);
  Publishing second("a", 2);
  take(second.state({}));
  EXPECT_THAT(take(first.state({alarm(1)})), IsEmpty());
  EXPECT_EQ(overview_.ignored(), 1U);
  after(seconds(6));
  EXPECT_THAT(take(first.state({alarm(1)})), ElementsAre(Kind::kBack, Kind::kRaised));
  EXPECT_EQ(only().head.run_ns, 1);
  EXPECT_EQ(overview_.ignored(), 1U);
}

TEST_F(OverviewTest, AJobWhoseIdIsNoneIsNotRead) {
  Publishing job("a");
  const messaging::Message state = job.state({});
  const std::string id = PublishedJob{.name = "a", .host = "head", .folder = "/a"}.id();
  for (const std::string& other : {id + "\u0001", id.substr(1), std::string("00000000000000FF"),
                                   std::string(16, ' '), std::string()}) {
    std::string text = state.text;
    text.replace(text.find(id), id.size(), other);
    EXPECT_THAT(take({.subject = state.subject, .text = text}), IsEmpty()) << other;
  }
  EXPECT_EQ(overview_.not_read(), 5U);
  EXPECT_THAT(take(state), ElementsAre(Kind::kAppeared));
}

TEST_F(OverviewTest, AMessageOnAnotherJobsSubjectIsNotRead) {
  Publishing a("a");
  Publishing b("b");
  const messaging::Message of_a = a.state({});
  messaging::Message of_b = b.change(true, 1);
  of_b.subject = of_a.subject.substr(0, of_a.subject.rfind('.')) + ".change";
  EXPECT_THAT(take(of_b), IsEmpty());
  EXPECT_EQ(overview_.not_read(), 1U);
  EXPECT_THAT(take(of_a), ElementsAre(Kind::kAppeared));
}

TEST_F(OverviewTest, AnIdOfAnotherJobTakesNothingFromIt) {
  Publishing a("a");
  Publishing b("b");
  take(a.state({alarm(1)}));
  messaging::Message forged = b.state({});
  const std::string own = PublishedJob{.name = "b", .host = "head", .folder = "/b"}.id();
  const std::string other = PublishedJob{.name = "a", .host = "head", .folder = "/a"}.id();
  forged.subject.replace(forged.subject.find(own), own.size(), other);
  forged.text.replace(forged.text.find(own), own.size(), other);
  EXPECT_THAT(take(forged), ElementsAre(Kind::kAppeared));  // as another job
  EXPECT_EQ(overview_.jobs().size(), 2U);
  EXPECT_EQ(overview_.lasting_alarms(), 1U);
}

TEST_F(OverviewTest, NamesOfAnyBytesAreRead) {
  for (const char* name : {"a b", "a.b.>", "\xff\xfe", "\xc3\xa9t\xc3\xa9", ""}) {
    Publishing job(name);
    EXPECT_THAT(take(job.state({})), ElementsAre(Kind::kAppeared)) << name;
    EXPECT_THAT(take(job.change(true, 1)), ElementsAre(Kind::kRaised)) << name;
  }
  const std::string cut_letter(99, 'a');
  Publishing job(cut_letter + "\xc3\xa9");
  EXPECT_THAT(take(job.state({})), ElementsAre(Kind::kAppeared));
  EXPECT_EQ(overview_.not_read(), 0U);
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
