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
                     .notes = {}});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_DOUBLE_EQ(answer->figure("computed_s").value, 0.005);
  EXPECT_DOUBLE_EQ(answer->figure("sent_bytes").value, 6e6 + 6e6);
  EXPECT_DOUBLE_EQ(answer->figure("network_s").value, 0.012);
  EXPECT_DOUBLE_EQ(answer->figure("step_least_s").value, 0.012);
  EXPECT_DOUBLE_EQ(answer->figure("rate_balanced_bits_per_s").value, 12e6 * 8 / 0.005);
  EXPECT_EQ(answer->tables.front().rows.size(), 3u);
}

TEST(SizeWorkload, AJobThatSendsNothingIsRefused) {
  EXPECT_FALSE(size_workload({.job = job_of(R"("compute 2ms")"), .notes = {}}));
}

}  // namespace
}  // namespace heddle::planner
