// What `heddle paths` prints of what it found.
#include "apps/cli/paths/report.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using events::RoutesVerdict;

// Two routes; `second` is the address of the second one's spine.
measure::FoundRoutes two_routes(const std::string& second = "10.255.3.1") {
  measure::FoundRoutes found;
  found.peer = "10.0.1.1:18700";
  found.paths = found.paths_asked = 16;
  found.verdict = RoutesVerdict::kKnown;
  found.hops = 2;
  found.routes = {
      {{"10.255.0.1", "10.255.2.1"}, {{0, 40001}, {2, 40007}}, true, micros(50), micros(60)},
      {{"10.255.0.1", second}, {{1, 40004}}, true, micros(70), micros(80)}};
  return found;
}

TEST(PathsReportTest, TheTableHasOneLinePerRoute) {
  EXPECT_EQ(routes_text(two_routes()),
            "2 routes to 10.0.1.1:18700, with 2 routers on each.\n"
            "\n"
            "route routers, hop by hop     round trip  paths    their source ports\n"
            "1     10.255.0.1  10.255.2.1     60.0 us  2        40001,40007\n"
            "2     10.255.0.1  10.255.3.1     80.0 us  1        40004\n");
  EXPECT_TRUE(all_well(two_routes()));
}

TEST(PathsReportTest, ARouteThatDeliversNoMessageIsShownAsLost) {
  measure::FoundRoutes found = two_routes();
  found.routes[1].works = false;
  EXPECT_NE(routes_text(found).find("10.255.3.1        LOST"), std::string::npos);
  EXPECT_FALSE(all_well(found));
  const Json row = routes_document(found)["seen"][1];
  EXPECT_EQ(row["works"], false);
  EXPECT_FALSE(row.contains("round_trip_us_min"));
}

TEST(PathsReportTest, ASilentRouterIsNamedByItsHopAndTheRouterBeforeIt) {
  measure::FoundRoutes found = two_routes("");
  found.verdict = RoutesVerdict::kSilentRouter;
  found.silent_paths = 7;
  EXPECT_NE(routes_text(found).find("The number of routes to 10.0.1.1:18700 is not known: at "
                                    "hop 2, behind 10.255.0.1 the router on 7 of 16 paths does not "
                                    "answer."),
            std::string::npos)
      << routes_text(found);
  EXPECT_NE(routes_text(found).find("10.255.0.1  * "), std::string::npos);
  EXPECT_FALSE(all_well(found));
  const Json document = routes_document(found);
  EXPECT_TRUE(document["routes"].is_null());
  EXPECT_EQ(document["silent_hop"], 2);
  EXPECT_TRUE(document["seen"][1]["routers"][1].is_null());

  found.routes.erase(found.routes.begin());
  found.silent_paths = 16;
  EXPECT_NE(routes_text(found).find("no router answers at hop 2, behind 10.255.0.1."),
            std::string::npos);
}

TEST(PathsReportTest, TooFewPathsSayHowManyWouldDo) {
  measure::FoundRoutes found = two_routes();
  found.verdict = RoutesVerdict::kFewPaths;
  found.paths = found.paths_asked = 8;
  EXPECT_NE(
      routes_text(found).find("There are 2 routes or more to 10.0.1.1:18700: 8 paths are too few "
                              "to be sure that none was missed; try --paths 16."),
      std::string::npos)
      << routes_text(found);
  found.paths_asked = 128;
  EXPECT_NE(routes_text(found).find("start the other side with --set paths=128.\n"
                                    "The other side takes 8 paths at most; 128 were asked for.\n"),
            std::string::npos)
      << routes_text(found);
}

TEST(PathsReportTest, HostsThatAreJoinedByACableHaveNoRouter) {
  measure::FoundRoutes found = two_routes();
  found.hops = 0;
  found.routes.pop_back();
  found.routes[0].routers.clear();
  EXPECT_EQ(routes_text(found).substr(0, 50), "1 route to 10.0.1.1:18700, with 0 routers on each.");
  EXPECT_NE(routes_text(found).find("\n1     none "), std::string::npos);
}

TEST(PathsReportTest, TheDocumentHasEveryPathWithItsPort) {
  const Json document = routes_document(two_routes());
  EXPECT_EQ(document["routes"], 2);
  EXPECT_EQ(document["verdict"], "known");
  EXPECT_EQ(document["hops"], 2);
  EXPECT_EQ(document["seen"][0]["paths"][1],
            (Json{{"path", 2}, {"nic", 0}, {"source_port", 40007}}));
  EXPECT_EQ(document["seen"][1]["routers"], (Json{"10.255.0.1", "10.255.3.1"}));
  EXPECT_DOUBLE_EQ(document["seen"][1]["round_trip_us_median"].get<double>(), 80);
}

}  // namespace
}  // namespace heddle::cli
