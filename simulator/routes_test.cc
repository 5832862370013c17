// Routes: fabrics whose routes exceed the memory limit are rejected before any route is computed.
#include "simulator/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::HasSubstr;

std::string refused(const topology::Topology& topology) {
  const Result<void> fits = Routes::check(topology, "f.topo");
  return fits ? "accepted" : fits.error().message();
}

TEST(Routes, AThousandHostsFit) {
  const topology::Topology fabric = topology::fat_tree({.pods = 16,
                                                        .leaves_per_pod = 8,
                                                        .spines_per_pod = 8,
                                                        .cores_per_spine = 8,
                                                        .hosts_per_leaf = 8});
  EXPECT_EQ(refused(fabric), "accepted");
}

// A pair of switches takes 8 bytes, reachable or not.
TEST(Routes, FiftyThousandSwitchesAreRejected) {
  const topology::Topology fabric =
      topology::leaf_spine({.leaves = 50'000, .spines = 2, .hosts_per_leaf = 1});
  EXPECT_THAT(refused(fabric), HasSubstr("cannot simulate f.topo: routes between its 50002 "
                                         "switches over 100000 cables would take 38 GiB"));
}

TEST(Routes, FewSwitchesWithManyRoutesAreRejected) {
  const topology::Topology fabric =
      topology::leaf_spine({.leaves = 5'000, .spines = 200, .hosts_per_leaf = 1});
  EXPECT_THAT(refused(fabric), HasSubstr("would take 19 GiB"));
}

}  // namespace
}  // namespace heddle::simulator
