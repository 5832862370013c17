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
                          {"redop", "sum"},
                          {"root", "-1"},
                          {"time_us", 80.0},
                          {"algorithm_bits_per_s", 0.82 * 8e9},
                          {"bus_bits_per_s", 1.435 * 8e9},
                          {"wrong_out_of_place", nullptr},
                          {"in_place",
                           {{"time_us", 79.0},
                            {"algorithm_bits_per_s", 0.83 * 8e9},
                            {"bus_bits_per_s", 1.45 * 8e9},
                            {"wrong", 2}}},
                          {"wrong", 2}}};
  report.stages.push_back(stage);
  const std::string sides = " +time +algbw +busbw +#wrong";
  EXPECT_THAT(text_of(report),
              testing::ContainsRegex("size +count +type +redop +root" + sides + sides + "\n"));
  EXPECT_THAT(text_of(report),
              testing::ContainsRegex("65536 +16384 +float +sum +-1 +80.00 +0.8200 +1.4350 +N/A +"
                                     "79.00 +0.8300 +1.4500 +2\n"));
  EXPECT_THAT(text_of(report), Not(HasSubstr("NCCL")));
  Json& data = report.stages.back().data;
  data["other_sizes"] = {{{"check", "all-gather"}, {"sizes", data["sizes"]}}};
  EXPECT_THAT(text_of(report), testing::ContainsRegex("# heddle, all-gather\n"));
  data["sizes"] = Json::array();
  EXPECT_THAT(text_of(report), HasSubstr("1.4350")) << "the table of the all-gather is left";
}

// Reports of earlier versions have sizes without counts.
TEST(Documents, TextOfAnEarlierReportHasNoTable) {
  Report report = two_stages();
  StageReport stage{.name = "collectives", .title = "", .outcome = StageOutcome::kPassed};
  stage.data["sizes"] = {{{"bytes", 65'536}, {"bus_bits_per_s", 8e9}}};
  report.stages.push_back(stage);
  EXPECT_THAT(text_of(report), Not(HasSubstr("algbw")));
}

// Facts are named by machines, places by recordings, all else by a report of another's making.
TEST(Documents, TextOfNoFieldHasEscapeSequencesOrLinesOfItsOwn) {
  const std::string evil = "evil\x1b]0;owned\x07\n  pass  forged\u009b1m\u202e";
  Report report{.fabric = evil, .topology = evil, .started = evil};
  StageReport stage{.name = "collectives", .title = evil, .outcome = StageOutcome::kBroken};
  stage.reason = evil;
  stage.rows = {{evil, evil, evil, evil, Grade::kFail, evil}};
  stage.data["sizes"] = {{{"bytes", 65'536}, {"count", 16'384}, {"type", evil}}};
  report.stages = {stage};
  report.headlines = {{evil, evil, evil}};
  report.notes = {evil};
  const std::string text = text_of(report);
  for (const char* const each : {"\x1b", "\x07", "\n  pass", "\u009b", "\u202e"}) {
    EXPECT_THAT(text, Not(HasSubstr(each)));
  }
  EXPECT_THAT(text, HasSubstr("evil?]0;owned?"));
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

// A row without an expectation cannot pass.
TEST(Documents, RowsWithoutAnExpectationAreForInformation) {
  Report report = two_stages();
  report.stages[0].rows.push_back({"tcp_bw", "2 of 2 pairs", "9 Gb/s", ""});
  EXPECT_THAT(text_of(report), HasSubstr("  info  tcp_bw"));
  EXPECT_THAT(text_of(report), HasSubstr("1 passed, 1 for information"));
  const Json document = json_of(report);
  EXPECT_EQ(document.at("passed"), 1);
  EXPECT_EQ(document.at("information"), 1);
  EXPECT_EQ(document.at("stages")[0].at("rows")[1].at("grade"), "info");
  EXPECT_THAT(junit_of(report), HasSubstr("for information; measured: 9 Gb/s"));
  EXPECT_EQ(ctrf_of(report).at("results").at("tests")[1].at("status"), "other");
  report.stages[0].rows[1].grade = Grade::kWarn;
  EXPECT_EQ(json_of(report).at("stages")[0].at("rows")[1].at("grade"), "warn");
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
