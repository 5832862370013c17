// Balanced colorings of random multigraphs: no color more than ceil(degree / colors) times at a
// vertex.
#include "planner/paths/coloring.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace heddle::planner {
namespace {

TEST(Coloring, EveryColorIsBalancedAtEveryVertex) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto vertices = static_cast<uint32_t>(random.between(1, 8));
    const auto colors = static_cast<uint32_t>(random.between(1, 9));
    const auto first = static_cast<uint32_t>(random.below(colors));
    std::vector<BipartiteEdge> edges(random.between(1, 120));
    std::map<uint32_t, uint32_t> left;
    std::map<uint32_t, uint32_t> right;
    for (BipartiteEdge& edge : edges) {
      edge = {static_cast<uint32_t>(random.below(vertices)),
              static_cast<uint32_t>(random.below(vertices))};
      ++left[edge.left];
      ++right[edge.right];
    }
    const auto any = [&](uint32_t /*edge*/) { return Colors::first(colors); };
    const std::vector<uint16_t> made =
        color_edges({vertices, vertices, edges}, {colors, first}, any);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_left;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_right;
    for (size_t i = 0; i < edges.size(); ++i) {
      ASSERT_LT(made[i], colors);
      const BipartiteEdge edge = edges[i];
      const uint32_t on_left = ++of_left[std::pair(edge.left, made[i])];
      const uint32_t on_right = ++of_right[std::pair(edge.right, made[i])];
      EXPECT_LE(on_left, (left[edge.left] + colors - 1) / colors);
      EXPECT_LE(on_right, (right[edge.right] + colors - 1) / colors);
    }
  }
}

TEST(Coloring, PreferredColorsAreTakenWhereTheyAreFree) {
  const std::vector<BipartiteEdge> edges = {{0, 0}, {1, 1}};
  const auto last = [](uint32_t /*edge*/) {
    Colors colors;
    colors.add(3);
    return colors;
  };
  EXPECT_EQ(color_edges({2, 2, edges}, {4, 0}, last), (std::vector<uint16_t>{3, 3}));
}

TEST(Coloring, EdgesThatMeetNowhereTakeTheFirstColor) {
  const std::vector<BipartiteEdge> edges = {{0, 1}, {1, 2}, {2, 0}, {0, 2}};
  const auto any = [](uint32_t /*edge*/) { return Colors::first(4); };
  EXPECT_EQ(color_edges({3, 3, edges}, {4, 3}, any), (std::vector<uint16_t>{3, 3, 3, 0}));
}

}  // namespace
}  // namespace heddle::planner
