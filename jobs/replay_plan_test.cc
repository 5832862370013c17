// Which process does what of a workload, and what real hosts cannot do.
#include "jobs/replay_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "topology/generators.h"
#include "topology/workload_file.h"

namespace heddle::jobs {
namespace {

topology::Topology four_hosts() {
  return topology::leaf_spine({.leaves = 1, .spines = 1, .hosts_per_leaf = 4});
}

topology::Workload workload_of(const std::string& text) {
  auto read = topology::parse_workload("version = 1\n" + text, "test", four_hosts(), 1);
  EXPECT_TRUE(read.has_value());
  return read ? *read : topology::Workload();
}

constexpr const char* kReduceOfTwo = R"(
[[job]]
kind = "all_reduce"
bytes = "1KB"
hosts = ["h3", "h1"]
)";

TEST(ReplayPlan, RanksOfJobsComeFirstThenHostsWithFlows) {
  const auto roles = roles_of(workload_of(std::string(kReduceOfTwo) + kReduceOfTwo + R"(
[[flow]]
from = "h2"
to = "h0"
bytes = "1KB"
)"),
                              4);
  ASSERT_TRUE(roles.has_value());
  ASSERT_EQ(roles->size(), 6U);
  EXPECT_EQ((*roles)[0].host, 3U);
  EXPECT_EQ((*roles)[1].host, 1U);
  EXPECT_EQ((*roles)[1].rank, 1U);
  EXPECT_EQ((*roles)[2].job, 1U);
  EXPECT_FALSE((*roles)[4].job.has_value());
  EXPECT_EQ((*roles)[4].host, 0U);
  EXPECT_EQ((*roles)[5].host, 2U);
}

TEST(ReplayPlan, AHostSetsOffItsOwnFlows) {
  const auto roles = roles_of(workload_of(R"(
[[job]]
kind = "all_to_all"
bytes = "1KB"
at_once = 1
)"),
                              4);
  ASSERT_TRUE(roles.has_value());
  EXPECT_EQ(roles->size(), 4U);
}

TEST(ReplayPlan, FlowsOfOneHostThatWaitForAnothersAreRefused) {
  topology::Workload workload;
  workload.triggers.resize(1);
  workload.flows = {{.id = 7, .from = 0, .to = 1, .bytes = {1}, .when_received = 0},
                    {.id = 8, .from = 1, .to = 2, .bytes = {1}, .waits_for = 0}};
  const auto roles = roles_of(workload, 4);
  ASSERT_FALSE(roles.has_value());
  EXPECT_NE(roles.error().message().find("flow 8 waits for"), std::string::npos);
}

TEST(ReplayPlan, LinksThatAreDownFromTheStartAreRefused) {
  topology::Workload workload;
  workload.flows = {{.id = 1, .from = 0, .to = 1, .bytes = {1}}};
  workload.failed_links = {0};
  const auto roles = roles_of(workload, 4);
  ASSERT_FALSE(roles.has_value());
  EXPECT_NE(roles.error().message().find("heddle lab fault down"), std::string::npos);
}

}  // namespace
}  // namespace heddle::jobs
