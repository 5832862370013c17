// The fabric in a report: which of its links rows name.
#include "acceptance/report_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;

std::vector<std::string> named_by(const std::string& where) {
  Report report;
  report.stages.push_back({.name = "pairs"});
  report.stages.back().rows.push_back({"link rate", where, "1 Mb/s", "9 Mb/s", Grade::kFail});
  for (const char* const label : {"leaf0 - spine0", "leaf0 - spine0 #1"}) {
    report.links.push_back({.a = "leaf0", .b = "spine0", .label = label});
  }
  name_places(report);
  std::vector<std::string> named;
  for (const LinkReport& link : report.links) {
    if (link.named) named.push_back(link.label);
  }
  return named;
}

TEST(ReportFabric, OfParallelLinksTheOneThatARowNamesIsMarked) {
  EXPECT_THAT(named_by("leaf0 to spine0"), ElementsAre("leaf0 - spine0"));
  EXPECT_THAT(named_by("leaf0 to spine0 #1"), ElementsAre("leaf0 - spine0 #1"));
  EXPECT_THAT(named_by("spine0 to leaf0 #1"), ElementsAre("leaf0 - spine0 #1"));
  EXPECT_THAT(named_by("leaf0 - spine0 #1"), ElementsAre("leaf0 - spine0 #1"));
}

}  // namespace
}  // namespace heddle::acceptance
