// Calls of jobs in workload files and collectives are the same things under the same numbers.
#include <gtest/gtest.h>

#include <string>

#include "collectives/collective.h"
#include "topology/job.h"

namespace heddle {
namespace {

std::string without_lines(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_') text += c;
  }
  return text;
}

TEST(CallNames, AreThoseOfCollectives) {
  static_assert(topology::kCallKinds == collectives::kCollectives);
  static_assert(topology::kCallAlgorithms == collectives::kAlgorithms);
  for (uint32_t i = 0; i < topology::kCallKinds; ++i) {
    const auto kind = static_cast<topology::CallKind>(i);
    const auto collective = static_cast<collectives::Collective>(i);
    const std::string name = without_lines(name_of(kind));
    EXPECT_EQ(name == "receive" ? "recv" : name, name_of(collective));
    for (uint32_t j = 0; j < topology::kCallAlgorithms; ++j) {
      const auto mine = static_cast<topology::CallAlgorithm>(j);
      const auto theirs = static_cast<collectives::Algorithm>(j);
      EXPECT_EQ(name_of(mine), name_of(theirs));
      if (topology::between_two(kind)) continue;
      EXPECT_EQ(topology::has_algorithm(kind, mine), can_run(collective, theirs)) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace heddle
