// Factors of bus bandwidth are those of nccl-tests' formulas.
#include "collectives/bus_bandwidth.h"

#include <gtest/gtest.h>

namespace heddle::collectives {
namespace {

TEST(BusBandwidth, FactorsAreThoseOfTheFormulas) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kSend, 8), 1);
}

}  // namespace
}  // namespace heddle::collectives
