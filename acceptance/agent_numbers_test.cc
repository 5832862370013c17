// Agent numbers: what no type holds is bounded.
#include "acceptance/agent_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace heddle::acceptance {
namespace {

TEST(AgentNumbers, AreBoundedByTheTypeThatHoldsThem) {
  EXPECT_EQ(count_of(7.9), 7U);
  EXPECT_EQ(count_of(-1), 0U);
  EXPECT_EQ(count_of(std::nan("")), 0U);
  EXPECT_EQ(count_of(5e9, UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(count_of(1e300), UINT64_MAX);
  EXPECT_EQ(count_of(std::numeric_limits<double>::infinity(), INT64_MAX), uint64_t{INT64_MAX});
}

TEST(AgentNumbers, ATimeThatNoTypeHoldsIsTheLongest) {
  EXPECT_EQ(us_text(2.96), "2.96 us");
  EXPECT_EQ(us_text(-5), us_text(0));
  EXPECT_EQ(us_text(1e300), us_text(1e30));
}

}  // namespace
}  // namespace heddle::acceptance
