// A plan file that is replaced while connections follow it, as `heddle plan lease` does: read again
// at the next look, and kept where the new one cannot be read.
#include "engine/plan_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(PlanFollowerTest, AReplacedFileIsReadAtTheNextLook) {
  write(plan_to("h1"));
  PlanFollower follower(PlanFollower::selector_with(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  EXPECT_FALSE(follower.due(seconds(59)));
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
  PlanFollower follower(PlanFollower::selector_with(file()));
  follower.on_notice(seconds(0), opened(), endpoint_);
  write("{\"version\": 2, \"addr");
  EXPECT_THAT(look(follower, seconds(60)), HasSubstr("the plan from before is followed"));
  folder_.remove();
  EXPECT_THAT(look(follower, seconds(120)), HasSubstr("the plan from before is followed"));
  EXPECT_THAT(look(follower, seconds(180)), Not(HasSubstr("followed")));
}

}  // namespace
}  // namespace heddle::engine
