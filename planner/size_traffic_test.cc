// Bytes of a step: by hand for small jobs, and impossible jobs.
#include "planner/size_traffic.h"

#include <gtest/gtest.h>

namespace heddle::planner {
namespace {

const ModelShape kMillion{.name = "a million", .parameters_alone = 1'000'000};

// 4 nodes of one GPU: 2 x 3/4 x 1,000,000 x 4 bytes = 6,000,000.
TEST(SizeTraffic, DataParallelSendsTwiceTheGradients) {
  const auto answer = size_traffic(kMillion, {.gpus = 4, .gpus_per_node = 1});
  ASSERT_TRUE(answer.has_value());
  EXPECT_DOUBLE_EQ(answer->figure("nic_bytes").value, 6e6);
  EXPECT_DOUBLE_EQ(answer->figure("nvlink_bytes").value, 0);
}

// 4 nodes of 8: 2 x 3/4 x 4,000,000 / 8 = 750,000 through a NIC, 2 x 7/8 x 4,000,000 over NVLink.
TEST(SizeTraffic, NodesReduceBeforeTheirNicsSend) {
  const auto answer = size_traffic(kMillion, {.gpus = 32});
  ASSERT_TRUE(answer.has_value());
  EXPECT_DOUBLE_EQ(answer->figure("nic_bytes").value, 750'000);
  EXPECT_DOUBLE_EQ(answer->figure("nvlink_bytes").value, 7e6);
}

TEST(SizeTraffic, ImpossibleJobsNameWhatWouldBeRight) {
  const auto answer = size_traffic(kMillion, {.gpus = 10, .data = 8});
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().todo.find("--gpus 8"), std::string::npos);
}

}  // namespace
}  // namespace heddle::planner
