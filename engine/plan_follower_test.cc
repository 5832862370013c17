// A plan file that is replaced while connections follow it, as `heddle plan lease` does: read again
// once it is noticed, on a thread of its own, and kept where the new one cannot be read.
#include "engine/plan_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/document.h"
#include "base/log.h"
#include "base/temporary_folder.h"
#include "engine/addresses.h"

namespace heddle::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

class PlanFollowerTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-plan");
    ASSERT_TRUE(made.has_value());
    folder_ = std::move(*made);
    set_log_level(LogLevel::kInfo);
  }
  void TearDown() override { set_log_level(LogLevel::kWarn); }

  std::string file() const { return folder_.path() + "/plan.json"; }
  void write(const std::string& text) {
    const Result<void> written = replace_text_file(file(), text);
    ASSERT_TRUE(written.has_value()) << written.error().message();
  }
  static std::string plan_to(const std::string& peer) {
    return R"({"version": 2, "addresses": {"h0": ["127.0.0.1"], "h1": ["192.0.2.1"],
               "h2": ["192.0.2.2"]}, "flows": [{"from": "h0", "to": ")" +
           peer + R"(", "paths": [{"path": 0, "share_per_million": 1000000, "via": ["leaf0"]}]}]})";
  }
  // What a look at this time logs.
  std::string look(PlanFollower& follower, Nanos at) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(follower.due(at));
    follower.turn(at, endpoint_);
    for (; follower.reading(); usleep(100)) {
      EXPECT_TRUE(follower.due(at));
      follower.turn(at, endpoint_);
    }
    return testing::internal::GetCapturedStderr();
  }
  transport::Notice opened() const {
    transport::Notice notice;
    notice.connection = 7;
    notice.peer = find_address("192.0.2.1:4791", 0).value();
    return notice;
  }

  TemporaryFolder folder_;
  transport::Endpoint endpoint_{transport::EndpointOptions{}, Seed(1), nullptr};
};

TEST_F(PlanFollowerTest, AReplacedFileIsReadWithinTenMilliseconds) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  EXPECT_THAT(look(follower, seconds(0)), Not(HasSubstr("read again")));
  EXPECT_FALSE(follower.due(micros(9'999)));
  EXPECT_THAT(look(follower, millis(10)), Not(HasSubstr("read again")));
  write(plan_to("h2"));
  EXPECT_FALSE(follower.due(micros(19'999)));
  EXPECT_THAT(look(follower, millis(20)), HasSubstr("no flow to 192.0.2.1:4791 any more"));
  EXPECT_THAT(look(follower, millis(30)), Not(HasSubstr("read again")));
}

TEST_F(PlanFollowerTest, ASelectorNamesTheFile) {
  write(plan_to("h1"));
  EXPECT_EQ(PlanFollower::plan_of("reps"), nullptr);
  EXPECT_EQ(PlanFollower::plan_of("plan"), nullptr);
  EXPECT_NE(PlanFollower::plan_of(PlanFollower::selector_with(file()))->plan(), nullptr);
}

// Of an endpoint's engines.
TEST_F(PlanFollowerTest, SeveralFollowersReadAReplacedFileOnce) {
  write(plan_to("h1"));
  const auto shared = std::make_shared<SharedPlan>(file());
  PlanFollower first(shared);
  PlanFollower second(shared);
  for (PlanFollower* each : {&first, &second}) {
    each->on_notice(seconds(0), opened(), endpoint_);
    look(*each, seconds(0));
  }
  write(plan_to("h2"));
  const std::string log = look(first, millis(10)) + look(second, millis(10));
  const std::string read = "read again";
  const size_t at = log.find(read);
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find(read, at + 1), std::string::npos) << log;
  const std::string dropped = "no flow to 192.0.2.1:4791 any more";
  const size_t by_first = log.find(dropped);
  ASSERT_NE(by_first, std::string::npos) << log;
  EXPECT_NE(log.find(dropped, by_first + 1), std::string::npos) << "by the second too: " << log;
  EXPECT_EQ(shared->number(), 1U);
}

// The one that is read may be the one before.
TEST_F(PlanFollowerTest, AFileReplacedWhileItIsReadIsReadOnceMore) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  look(follower, seconds(0));
  write(plan_to("h1"));
  follower.turn(millis(10), endpoint_);
  write(plan_to("h2"));
  std::string log = look(follower, millis(20));
  log += look(follower, millis(30));
  EXPECT_THAT(log, HasSubstr("no flow to 192.0.2.1:4791 any more"));
}

// As by a program that makes a folder's content anew.
TEST_F(PlanFollowerTest, AFolderThatIsMadeAnewIsWatchedAgain) {
  const std::string folder = folder_.path() + "/plans";
  const std::string plan = folder + "/plan.json";
  const auto put = [&](const std::string& peer) {
    ASSERT_TRUE(mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
    ASSERT_TRUE(replace_text_file(plan, plan_to(peer)).has_value());
  };
  put("h1");
  PlanFollower follower(std::make_shared<SharedPlan>(plan));
  follower.on_notice(seconds(0), opened(), endpoint_);
  look(follower, seconds(0));
  ASSERT_EQ(unlink(plan.c_str()), 0);
  ASSERT_EQ(rmdir(folder.c_str()), 0);
  put("h1");
  look(follower, millis(10));  // the folder is another one, which is watched from now on
  put("h2");
  EXPECT_THAT(look(follower, millis(20)), HasSubstr("no flow to 192.0.2.1:4791 any more"));
}

// As a file that another host replaces: no watch reports it.
TEST_F(PlanFollowerTest, AFileReplacedElsewhereIsReadWithinAMinute) {
  write(plan_to("h1"));
  Result<TemporaryFolder> links = TemporaryFolder::make("heddle-plan");
  ASSERT_TRUE(links.has_value());
  const std::string link = links->path() + "/link.json";
  ASSERT_EQ(symlink(file().c_str(), link.c_str()), 0);
  PlanFollower follower(std::make_shared<SharedPlan>(link));
  follower.on_notice(seconds(0), opened(), endpoint_);
  look(follower, seconds(0));
  write(plan_to("h2"));
  EXPECT_THAT(look(follower, millis(59'990)), Not(HasSubstr("read again")));
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("no flow to 192.0.2.1:4791 any more"));
}

TEST_F(PlanFollowerTest, TheFileIsLookedAtOnceAMinute) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  EXPECT_THAT(look(follower, seconds(0)), Not(HasSubstr("read again")));
  EXPECT_THAT(look(follower, seconds(60)), Not(HasSubstr("read again")));
  write(plan_to("h1"));
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("it was replaced, and is read again"));
  EXPECT_THAT(look(follower, seconds(180)), Not(HasSubstr("read again")));
  write(plan_to("h2"));
  EXPECT_THAT(look(follower, seconds(240)), HasSubstr("no flow to 192.0.2.1"));
  write(plan_to("h1"));
  EXPECT_THAT(look(follower, seconds(300)), Not(HasSubstr("no flow to")));
}

TEST_F(PlanFollowerTest, AFileThatCannotBeReadLeavesThePlan) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  write("{\"version\": 2, \"addr");
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("the plan from before is followed"));
  folder_.remove();
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("the plan from before is followed"));
  EXPECT_THAT(look(follower, seconds(180)), Not(HasSubstr("followed")));
}

TEST_F(PlanFollowerTest, AnUnreadablePlanIsReadAgainOnceItIsMended) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  write("half");
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("the plan from before is followed"));
  write(plan_to("h2"));
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("no flow to 192.0.2.1"));
}

TEST_F(PlanFollowerTest, APlanThatIsMissingAtTheStartIsReadLater) {
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  EXPECT_EQ(look(follower, seconds(0)), "");
  write(plan_to("h1"));
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("it was replaced, and is read again"));
  write(plan_to("h2"));
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("no flow to 192.0.2.1"));
}

// The plan gets a flow to its peer while it is open.
TEST_F(PlanFollowerTest, AConnectionWithoutAFlowIsFollowedOnceThePlanHasOne) {
  write(plan_to("h2"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  look(follower, seconds(0));
  write(plan_to("h1"));
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("read again"));
  write(plan_to("h2"));
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("no flow to 192.0.2.1:4791 any more"));
}

TEST_F(PlanFollowerTest, AFileReplacedWhileNoConnectionIsOpenIsReadWithTheFirst) {
  write(plan_to("h1"));
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  write(plan_to("h2"));
  follower.on_notice(seconds(500), opened(), endpoint_);
  EXPECT_THAT(look(follower, seconds(500)), HasSubstr("no flow to 192.0.2.1"));
}

// Opening a pipe waits for its other end, and reading it for ever.
TEST_F(PlanFollowerTest, APipeDoesNotBlock) {
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  PlanFollower follower(std::make_shared<SharedPlan>(file()));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no regular file"));
  follower.on_notice(seconds(0), opened(), endpoint_);
  EXPECT_EQ(look(follower, seconds(0)), "");
  ASSERT_EQ(unlink(file().c_str()), 0);
  write(plan_to("h1"));
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("read again"));
}

// A network whose routes are known.
class Known final : public KnownRoutes {
 public:
  std::vector<transport::PlannedShare> shares_of(const transport::Address& peer) const override {
    asked_.push_back(peer);
    return {};
  }
  uint32_t changes() const override { return changes_; }
  uint32_t changes_ = 0;
  mutable std::vector<transport::Address> asked_;
};

TEST_F(PlanFollowerTest, ANetworkThatKnowsItsRoutesIsAskedOnceForEachOpenConnection) {
  const Known known;
  PlanFollower follower(nullptr, &known);
  transport::Notice notice = opened();
  follower.on_notice(seconds(1), notice, endpoint_);
  EXPECT_FALSE(follower.due(seconds(600)));
  notice.kind = transport::NoticeKind::kClosed;
  follower.on_notice(seconds(2), notice, endpoint_);
  EXPECT_THAT(known.asked_, testing::ElementsAre(notice.peer));
  PlanFollower(std::make_shared<SharedPlan>(file()), &known)
      .on_notice(seconds(3), opened(), endpoint_);
  EXPECT_EQ(known.asked_.size(), 1U) << "a file comes first";
}

// A plan for the routes after a failure was read under those before it, and never again.
TEST_F(PlanFollowerTest, ANetworkThatKnowsItsRoutesIsAskedAgainOnceTheyHaveChanged) {
  Known known;
  known.changes_ = 3;
  PlanFollower follower(nullptr, &known);
  transport::Notice notice = opened();
  follower.on_notice(seconds(1), notice, endpoint_);
  EXPECT_FALSE(follower.due(seconds(1)));
  ++known.changes_;
  ASSERT_TRUE(follower.due(seconds(1)));
  follower.turn(seconds(1), endpoint_);
  EXPECT_THAT(known.asked_, testing::ElementsAre(notice.peer, notice.peer));
  EXPECT_FALSE(follower.due(seconds(600)));
  notice.kind = transport::NoticeKind::kClosed;
  follower.on_notice(seconds(2), notice, endpoint_);
  ++known.changes_;
  follower.turn(seconds(3), endpoint_);
  EXPECT_EQ(known.asked_.size(), 2U) << "a closed connection has no paths";
}

}  // namespace
}  // namespace heddle::engine
