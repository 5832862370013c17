// Quotas and cgroup paths are parsed correctly, and no more threads get a spin permit than there
// are cores.
#include "engine/cores.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::engine {
namespace {

TEST(Cores, ParsesQuotas) {
  EXPECT_DOUBLE_EQ(*parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_DOUBLE_EQ(*parse_cpu_max("50000 100000"), 0.5);
  EXPECT_FALSE(parse_cpu_max("max 100000\n"));
  EXPECT_FALSE(parse_cpu_max(""));
  EXPECT_FALSE(parse_cpu_max("100000"));
  EXPECT_FALSE(parse_cpu_max("100000 0"));
}

TEST(Cores, FindsTheVersion2GroupAmongVersion1Hierarchies) {
  EXPECT_EQ(parse_cgroup_path("0::/user.slice/a\n"), "/user.slice/a");
  EXPECT_EQ(parse_cgroup_path("4:memory:/x\n0::/job\n"), "/job");
  EXPECT_EQ(parse_cgroup_path("0::/\n"), "");
  EXPECT_EQ(parse_cgroup_path("4:memory:/x\n"), "");
  EXPECT_EQ(parse_cgroup_path(""), "");
}

TEST(Cores, UsableCoresAreAtLeastOne) { EXPECT_GE(usable_cores(), 1); }

TEST(SpinPermit, AtMostOneThreadPerCoreGetsAPermit) {
  std::vector<SpinPermit> leaves;
  for (int i = 0; i < usable_cores(); ++i) {
    leaves.push_back(SpinPermit::take(0));
    EXPECT_TRUE(leaves.back().granted());
  }
  EXPECT_FALSE(SpinPermit::take(0).granted());
  leaves.pop_back();
  EXPECT_FALSE(SpinPermit::take(1).granted());
  EXPECT_TRUE(SpinPermit::take(0).granted());
}

TEST(SpinPermit, ReservedCoresStayFree) {
  EXPECT_FALSE(SpinPermit::take(usable_cores()).granted());
}

}  // namespace
}  // namespace heddle::engine
