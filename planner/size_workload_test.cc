// What a job computes and sends, by hand.
#include "planner/size_workload.h"

#include <gtest/gtest.h>

#include <string>

#include "topology/generators.h"
#include "topology/workload_file.h"

namespace heddle::planner {
namespace {

topology::Job job_of(const std::string& actions) {
  const auto workload = topology::parse_workload(
      "version = 1\n[[job]]\nkind = \"program\"\nranks = 4\n[[job.program]]\nranks = [\"0..3\"]\n"
      "actions = [" +
          actions + "]\n",
      "w.toml", topology::leaf_spine({.hosts_per_leaf = 4}), 1);
  EXPECT_TRUE(workload) << workload.error().message();
  return workload ? workload->jobs.front() : topology::Job{};
}

TEST(SizeWorkload, SumsWhatTheBusiestRankComputesAndSends) {
  const auto answer =
      size_workload({.job = job_of(R"("compute 2ms", "all_reduce world 4MB", "barrier world",
        "all_gather world 8MB as a", "compute 3ms as c after a", "compute 9ms on cpu")"),
                     .rate_bits_per_s = 8e9,
                     .notes = {},
                     .waits = {},
                     .recording = {}});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_DOUBLE_EQ(answer->figure("computed_s").value, 0.005);
  EXPECT_DOUBLE_EQ(answer->figure("sent_bytes").value, 6e6 + 6e6);
  EXPECT_DOUBLE_EQ(answer->figure("network_s").value, 0.012);
  EXPECT_DOUBLE_EQ(answer->figure("step_least_s").value, 0.012);
  EXPECT_DOUBLE_EQ(answer->figure("rate_balanced_bits_per_s").value, 12e6 * 8 / 0.005);
  EXPECT_EQ(answer->tables.front().rows.size(), 3u);
}

TEST(SizeWorkload, OfARecordingTheShareOfWaitsDecidesTheAdvice) {
  WorkloadQuestion question;
  question.job = job_of(R"("compute 2ms", "all_reduce world 4MB")");
  question.recording = "job";
  question.waits = {.exposed_s = 3, .recorded_s = 12};
  auto answer = size_workload(question);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->figures.front().name, "exposed_share");
  EXPECT_DOUBLE_EQ(answer->figures.front().value, 0.25);
  EXPECT_NE(answer->advice.front().find("heddle size report job"), std::string::npos);
  question.waits.exposed_s = 0.2;
  answer = size_workload(question);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->advice.size(), 1u);
  EXPECT_NE(answer->advice.front().find("leave the network as it is"), std::string::npos);
}

TEST(SizeWorkload, OfRecordedStepsTheWaitsStandBesideTheTimeOfTheRate) {
  WorkloadQuestion question;
  question.job = job_of(R"("compute 2ms", "all_reduce world 4MB")");
  question.rate_bits_per_s = 8e9;
  question.recording = "job";
  question.waits = {.exposed_s = 0.05, .recorded_s = 0.1, .steps = 5};
  auto answer = size_workload(question);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_DOUBLE_EQ(answer->figure("waited_s").value, 0.01);
  EXPECT_DOUBLE_EQ(answer->figure("network_s").value, 0.006);
  EXPECT_NE(answer->advice.front().find("the rate is a large part of it"), std::string::npos);
  question.rate_bits_per_s = 80e9;
  answer = size_workload(question);
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->advice.front().find("most of it is not the rate"), std::string::npos);
}

TEST(SizeWorkload, AJobThatSendsNothingIsRefused) {
  WorkloadQuestion question;
  question.job = job_of(R"("compute 2ms")");
  EXPECT_FALSE(size_workload(question));
}

}  // namespace
}  // namespace heddle::planner
