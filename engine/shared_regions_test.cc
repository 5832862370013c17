// Shared regions: one id for the ids of all engines.
#include "engine/shared_regions.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace heddle::engine {
namespace {

SharedRegions::Locals locals(transport::RegionId first) {
  SharedRegions::Locals made{};
  for (size_t i = 0; i < made.size(); ++i) made[i] = first + static_cast<uint32_t>(i);
  return made;
}

TEST(SharedRegions, EachIdStandsForItsLocals) {
  SharedRegions regions;
  std::vector<transport::RegionId> ids;
  for (uint32_t i = 0; i < 1000; ++i) ids.push_back(regions.add(locals(i * 100)));
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 1000U);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(regions.at(ids[i]), locals(i * 100));
}

TEST(SharedRegions, ARemovedIdIsUsedAgain) {
  SharedRegions regions;
  const transport::RegionId first = regions.add(locals(1));
  regions.remove(first);
  EXPECT_EQ(regions.add(locals(2)), first);
  EXPECT_EQ(regions.at(first), locals(2));
}

TEST(SharedRegionsDeathTest, AnIdThatWasNeverGivenIsAnError) {
  const SharedRegions regions;
  EXPECT_DEATH(static_cast<void>(regions.at(5)), "");
  EXPECT_DEATH(static_cast<void>(regions.at(transport::kNoRegion)), "");
}

}  // namespace
}  // namespace heddle::engine
