// Documents: a report in its three forms.
#include "acceptance/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;
using testing::Not;

Report two_stages() {
  Report report{.fabric = "rack7"};
  StageReport reach{.name = "reach", .title = "Reach", .outcome = StageOutcome::kPassed};
  reach.rows.push_back({"reach", "2 of 2 pairs", "answered", "all"});
  report.stages.push_back(reach);
  return report;
}

StageReport failed_pairs() {
  StageReport pairs{.name = "pairs", .title = "Pairs", .outcome = StageOutcome::kFailed};
  pairs.rows.push_back(
      {"link rate", "leaf0 to spine1", "12 Mb/s <slow>", "50 Mb/s", Grade::kFail, "check optics"});
  return pairs;
}

TEST(Documents, VerdictsFollowTheWorstRow) {
  Report report = two_stages();
  EXPECT_EQ(verdict_of(report), "PASS");
  report.stages[0].rows[0].grade = Grade::kWarn;
  EXPECT_EQ(verdict_of(report), "WARN");
  report.signal = 2;
  EXPECT_EQ(verdict_of(report), "INCOMPLETE");
  report.stages.push_back(failed_pairs());
  EXPECT_EQ(verdict_of(report), "FAIL");
}

TEST(Documents, TextSaysWhatToDoOnlyWhereSomethingIsWrong) {
  Report report = two_stages();
  EXPECT_THAT(text_of(report), Not(HasSubstr("do:")));
  report.stages.push_back(failed_pairs());
  EXPECT_THAT(text_of(report), HasSubstr("do:  check optics"));
  EXPECT_THAT(text_of(report), HasSubstr("FAIL: 1 of 2 stages passed; 1 checks failed"));
}

TEST(Documents, TextHasAReasonBesideAFigureThatIsFine) {
  Report report = two_stages();
  report.stages[0].rows[0].todo = "nothing, UDP retransmits nothing";
  EXPECT_THAT(text_of(report), HasSubstr("do:  nothing, UDP retransmits nothing"));
}

TEST(Documents, TextHasAllReducesAsNcclTestsPrintsThem) {
  Report report = two_stages();
  StageReport stage{.name = "collectives", .title = "", .outcome = StageOutcome::kPassed};
  stage.data["sizes"] = {{{"bytes", 65'536},
                          {"count", 16'384},
                          {"type", "float"},
                          {"time_us", 80.0},
                          {"algorithm_bits_per_s", 0.82 * 8e9},
                          {"bus_bits_per_s", 1.435 * 8e9},
                          {"wrong", 0}}};
  report.stages.push_back(stage);
  EXPECT_THAT(text_of(report),
              testing::ContainsRegex("size +count +type +time +algbw +busbw +#wrong"));
  EXPECT_THAT(text_of(report),
              testing::ContainsRegex("65536 +16384 +float +80.00 +0.8200 +1.4350 +0\n"));
  EXPECT_THAT(text_of(report), Not(HasSubstr("NCCL")));
}

// Reports of earlier versions have sizes without counts.
TEST(Documents, TextOfAnEarlierReportHasNoTable) {
  Report report = two_stages();
  StageReport stage{.name = "collectives", .title = "", .outcome = StageOutcome::kPassed};
  stage.data["sizes"] = {{{"bytes", 65'536}, {"bus_bits_per_s", 8e9}}};
  report.stages.push_back(stage);
  EXPECT_THAT(text_of(report), Not(HasSubstr("algbw")));
}

TEST(Documents, JunitCountsAndEscapes) {
  Report report = two_stages();
  report.stages.push_back(failed_pairs());
  report.stages.push_back({.name = "stress", .title = "", .reason = "stage 'pairs' did not pass"});
  report.stages.push_back({.name = "traffic", .title = "", .outcome = StageOutcome::kBroken});
  const std::string text = junit_of(report);
  EXPECT_THAT(text, HasSubstr("tests=\"4\" failures=\"1\""));
  EXPECT_THAT(text, HasSubstr("12 Mb/s &lt;slow&gt;"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"stage 'pairs' did not pass\"/>"));
  EXPECT_THAT(text, HasSubstr("errors=\"1\""));
}

TEST(Documents, JsonHasNullWhereNothingIsToDo) {
  const Json document = json_of(two_stages());
  EXPECT_TRUE(document.at("stages")[0].at("rows")[0].at("todo").is_null());
  EXPECT_EQ(document.at("verdict"), "PASS");
  EXPECT_EQ(document.at("passed"), 1);
}

TEST(Documents, CtrfCountsWhatJunitCounts) {
  Report report = two_stages();
  report.start_ms = 1000;
  report.seconds = 2;
  report.stages.push_back(failed_pairs());
  report.stages.push_back({.name = "stress", .title = "", .reason = "stage 'pairs' did not pass"});
  report.stages.push_back({.name = "traffic", .title = "", .outcome = StageOutcome::kBroken});
  const Json results = ctrf_of(report).at("results");
  const Json summary = results.at("summary");
  EXPECT_EQ(summary.at("tests"), 4);
  EXPECT_EQ(summary.at("passed"), 1);
  EXPECT_EQ(summary.at("failed"), 2);
  EXPECT_EQ(summary.at("skipped"), 1);
  EXPECT_EQ(summary.at("stop"), 3000);
  EXPECT_EQ(results.at("tests").at(1).at("name"), "link rate: leaf0 to spine1");
  EXPECT_THAT(results.at("tests").at(1).at("message"), HasSubstr("do: check optics"));
}

}  // namespace
}  // namespace heddle::acceptance
