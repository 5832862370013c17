// The wait detector over threads whose sleep the test decides.
#include "collectives/progress/wait_detector.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace heddle::collectives {
namespace {

class Scripted final : public SleepSource {
 public:
  bool sleeps_on(ThreadId thread, const AwaitedObject& /*object*/) override {
    asked_.insert(thread);
    return sleeping.contains(thread);
  }
  void forget(ThreadId thread) override { asked_.erase(thread); }

  std::set<ThreadId> sleeping;
  std::set<ThreadId> asked_;  // and not forgotten since
};

class WaitDetection : public ::testing::Test {
 protected:
  // Its events go to the log: "+a" when a wait for it begins, "-a" when it ends.
  std::shared_ptr<CallState> call(const std::string& name) {
    auto state = std::make_shared<CallState>(std::function<void(const Result<void>&)>(),
                                             [] { return std::string(); });
    state->posted([this, name](bool begins) { log_ += (begins ? "+" : "-") + name; });
    return state;
  }
  std::string sample() {
    log_.clear();
    detector_.sample();
    return log_;
  }
  std::string end(const std::shared_ptr<CallState>& call) {
    log_.clear();
    call->end({});
    return log_;
  }

  std::string log_;
  Scripted source_;
  WaitDetector detector_{source_};
};

TEST_F(WaitDetection, AThreadThatRunsWaitsForNothing) {
  const auto a = call("a");
  detector_.add(1, {}, a);
  EXPECT_EQ(sample(), "");
  EXPECT_EQ(detector_.awaited(), nullptr);
  EXPECT_EQ(end(a), "");
  EXPECT_EQ(sample(), "");
}

TEST_F(WaitDetection, AWaitLastsFromTheFirstSampleThatSeesItUntilTheThreadRuns) {
  const auto a = call("a");
  detector_.add(1, {}, a);
  source_.sleeping = {1};
  EXPECT_EQ(sample(), "+a");
  EXPECT_EQ(sample(), "");
  EXPECT_EQ(detector_.awaited(), a);
  source_.sleeping = {};
  EXPECT_EQ(sample(), "-a");
  EXPECT_EQ(sample(), "");
  EXPECT_EQ(end(a), "");
}

TEST_F(WaitDetection, AWaitEndsWithItsCallBeforeTheNextSample) {
  const auto a = call("a");
  detector_.add(1, {}, a);
  source_.sleeping = {1};
  EXPECT_EQ(sample(), "+a");
  EXPECT_EQ(end(a), "-a");
  EXPECT_EQ(sample(), "");
  EXPECT_TRUE(detector_.idle());
}

TEST_F(WaitDetection, AThreadWaitsForTheOldestCallThatRuns) {
  const auto a = call("a");
  const auto b = call("b");
  const auto c = call("c");
  for (const auto& each : {a, b, c, a}) detector_.add(1, {}, each);
  source_.sleeping = {1};
  EXPECT_EQ(sample(), "+a");
  EXPECT_EQ(end(b), "");
  EXPECT_EQ(end(a), "-a");
  EXPECT_EQ(sample(), "+c");
  EXPECT_EQ(end(c), "-c");
  EXPECT_EQ(sample(), "");
}

TEST_F(WaitDetection, NoThreadWaitsWhileNoCallOfItsRuns) {
  const auto a = call("a");
  detector_.add(1, {}, a);
  end(a);
  source_.sleeping = {1};
  EXPECT_EQ(sample(), "");
  EXPECT_TRUE(detector_.idle());
  EXPECT_TRUE(source_.asked_.empty());
}

TEST_F(WaitDetection, AThreadIsForgottenWithItsLastCall) {
  const auto a = call("a");
  const auto b = call("b");
  detector_.add(1, {}, a);
  detector_.add(2, {}, b);
  sample();
  EXPECT_EQ(source_.asked_, (std::set<ThreadId>{1, 2}));
  end(b);
  sample();
  EXPECT_EQ(source_.asked_, std::set<ThreadId>{1});
}

TEST_F(WaitDetection, ThreadsThatWaitForOneCallAreOneWait) {
  const auto a = call("a");
  detector_.add(1, {}, a);
  detector_.add(2, {}, a);
  source_.sleeping = {1, 2};
  EXPECT_EQ(sample(), "+a");
  EXPECT_TRUE(detector_.all_wait());
  source_.sleeping = {2};
  EXPECT_EQ(sample(), "");
  EXPECT_FALSE(detector_.all_wait());
  a->begin_wait();  // of a thread that waits by PendingCall
  source_.sleeping = {};
  EXPECT_EQ(sample(), "");
  a->end_wait();
  EXPECT_EQ(log_, "-a");
}

TEST_F(WaitDetection, ACallThatEndsInFailureOrIsPostedLateIsAsAnyOther) {
  auto late = std::make_shared<CallState>(std::function<void(const Result<void>&)>(),
                                          [] { return std::string(); });
  detector_.add(1, {}, late);
  source_.sleeping = {1};
  EXPECT_EQ(sample(), "");
  late->posted([this](bool begins) { log_ += begins ? "+" : "-"; });
  EXPECT_EQ(log_, "+");
  late->end(fail(ErrorCode::kClosed, "a call", "its rank has left"));
  EXPECT_EQ(log_, "+-");
  EXPECT_EQ(sample(), "");
  EXPECT_TRUE(detector_.idle());
}

}  // namespace
}  // namespace heddle::collectives
