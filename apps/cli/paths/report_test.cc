// What `heddle paths` prints of what it found.
#include "apps/cli/paths/report.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using events::WaysVerdict;

// Two spines; the second way's spine has the name given.
FoundWays two_ways(const std::string& second = "10.255.3.1") {
  FoundWays found;
  found.peer = "10.0.1.1:18700";
  found.paths = found.paths_asked = 16;
  found.verdict = WaysVerdict::kKnown;
  found.hops = 2;
  found.ways = {
      {{"10.255.0.1", "10.255.2.1"}, {{0, 40001}, {2, 40007}}, true, micros(50), micros(60)},
      {{"10.255.0.1", second}, {{1, 40004}}, true, micros(70), micros(80)}};
  return found;
}

TEST(PathsReportTest, WaysAreARowEach) {
  EXPECT_EQ(ways_text(two_ways()),
            "2 ways to 10.0.1.1:18700, with 2 routers on each.\n"
            "\n"
            "way  routers, hop by hop     round trip  paths    their source ports\n"
            "1    10.255.0.1  10.255.2.1     60.0 us  2        40001,40007\n"
            "2    10.255.0.1  10.255.3.1     80.0 us  1        40004\n");
  EXPECT_TRUE(all_well(two_ways()));
}

TEST(PathsReportTest, AWayThatMessagesDoNotComeThroughIsLost) {
  FoundWays found = two_ways();
  found.ways[1].works = false;
  EXPECT_NE(ways_text(found).find("10.255.3.1        LOST"), std::string::npos);
  EXPECT_FALSE(all_well(found));
  const Json row = ways_document(found)["seen"][1];
  EXPECT_EQ(row["works"], false);
  EXPECT_FALSE(row.contains("round_trip_us_min"));
}

TEST(PathsReportTest, ASilentRouterIsNamedByItsHopAndWhoStandsBeforeIt) {
  FoundWays found = two_ways("");
  found.verdict = WaysVerdict::kSilentRouter;
  found.silent_paths = 7;
  EXPECT_NE(ways_text(found).find("It is not known how many ways there are to 10.0.1.1:18700: at "
                                  "hop 2, behind 10.255.0.1 the router on 7 of 16 paths does not "
                                  "answer."),
            std::string::npos)
      << ways_text(found);
  EXPECT_NE(ways_text(found).find("10.255.0.1  * "), std::string::npos);
  EXPECT_FALSE(all_well(found));
  const Json document = ways_document(found);
  EXPECT_TRUE(document["ways"].is_null());
  EXPECT_EQ(document["silent_hop"], 2);
  EXPECT_TRUE(document["seen"][1]["routers"][1].is_null());

  found.ways.erase(found.ways.begin());
  found.silent_paths = 16;
  EXPECT_NE(ways_text(found).find("no router answers at hop 2, behind 10.255.0.1."),
            std::string::npos);
}

TEST(PathsReportTest, TooFewPathsSayHowManyWouldDo) {
  FoundWays found = two_ways();
  found.verdict = WaysVerdict::kFewPaths;
  found.paths = found.paths_asked = 8;
  EXPECT_NE(ways_text(found).find("There are 2 ways or more to 10.0.1.1:18700: 8 paths are too few "
                                  "to be sure that none was missed; try --paths 16."),
            std::string::npos)
      << ways_text(found);
  found.paths_asked = 128;
  EXPECT_NE(ways_text(found).find("start the other side with --set paths=128.\n"
                                  "The other side takes 8 paths at most; 128 were asked for.\n"),
            std::string::npos)
      << ways_text(found);
}

TEST(PathsReportTest, HostsThatAreJoinedByACableHaveNoRouter) {
  FoundWays found = two_ways();
  found.hops = 0;
  found.ways.pop_back();
  found.ways[0].routers.clear();
  EXPECT_EQ(ways_text(found).substr(0, 48), "1 way to 10.0.1.1:18700, with 0 routers on each.");
  EXPECT_NE(ways_text(found).find("\n1    none "), std::string::npos);
}

TEST(PathsReportTest, TheDocumentHasEveryPathWithItsPort) {
  const Json document = ways_document(two_ways());
  EXPECT_EQ(document["ways"], 2);
  EXPECT_EQ(document["verdict"], "known");
  EXPECT_EQ(document["hops"], 2);
  EXPECT_EQ(document["seen"][0]["paths"][1],
            (Json{{"path", 2}, {"nic", 0}, {"source_port", 40007}}));
  EXPECT_EQ(document["seen"][1]["routers"], (Json{"10.255.0.1", "10.255.3.1"}));
  EXPECT_DOUBLE_EQ(document["seen"][1]["round_trip_us_median"].get<double>(), 80);
}

}  // namespace
}  // namespace heddle::cli
