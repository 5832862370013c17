// Route counts: what documents of `heddle paths` say, whole ones and odd ones.
#include "acceptance/stages/route_counts.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

SeenRoutes seen_in(const std::string& text, int exit_status = 0) {
  return seen_routes_in({.exit_status = exit_status, .output = text, .errors = {}});
}

TEST(RouteCounts, RoutesAreCountedAndLostOnesToo) {
  EXPECT_EQ(
      seen_in(R"({"verdict":"known","seen":[{"works":true},{"works":true},{"works":false}]})"),
      (SeenRoutes{.routes = 3, .lost = 1, .unknown = {}}));
}

TEST(RouteCounts, WhyTheyAreNotKnownIsSaid) {
  EXPECT_EQ(
      seen_in(R"({"verdict":"silent_router","seen":[{"works":true}]})", 1).unknown,
      "a router does not answer with ICMP \"time exceeded\", or a firewall drops its answers");
  EXPECT_EQ(seen_in(R"({"verdict":"few_paths","seen":[]})").unknown,
            "there are more than its paths can show");
  EXPECT_EQ(seen_in(R"({"verdict":"too_far"})").unknown,
            "a route has more routers than are probed");
  EXPECT_EQ(seen_in("", 2).unknown, "exit status 2");
}

TEST(RouteCounts, DocumentsOfAnotherShapeHaveNone) {
  EXPECT_EQ(seen_in("{}").unknown, "its answer is of another version of heddle");
  EXPECT_EQ(seen_in(R"({"verdict":"known","seen":7})"), SeenRoutes{});
  EXPECT_EQ(seen_in(R"({"verdict":"known","seen":[1,{},{"works":"yes"}]})"), SeenRoutes{});
}

}  // namespace
}  // namespace heddle::acceptance
