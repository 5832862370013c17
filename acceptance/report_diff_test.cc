// Report diff: what counts as worse, and baselines.
#include "acceptance/report_diff.h"

#include <gmock/gmock.h>

#include "acceptance/expectations.h"
#include "acceptance/report_baseline.h"

namespace heddle::acceptance {
namespace {

using ::testing::HasSubstr;

Json report(double goodput, const std::string& grade = "pass", const std::string& kernel = "6.1") {
  return {{"verdict", grade == "fail" ? "FAIL" : "PASS"},
          {"topology", "rack7.toml"},
          {"depth", "normal"},
          {"emulated", false},
          {"others_busy_share", 0.9},
          {"stages",
           {{{"name", "inventory"},
             {"outcome", "passed"},
             {"rows", Json::array()},
             {"data",
              {{"places",
                {{{"name", "h0"},
                  {"ports", {{{"device", "eth1"}, {"mtu_bytes", 9000}}}},
                  {"facts", {{"kernel", kernel}}}}}}}}},
            {{"name", "pairs"},
             {"outcome", grade == "fail" ? "failed" : "passed"},
             {"rows",
              {{{"check", "goodput"},
                {"where", "h0 to h1"},
                {"measured", "9 Gb/s"},
                {"grade", grade}}}},
             {"data",
              {{"pairs",
                {{{"from", "h0"},
                  {"to", "h1"},
                  {"goodput_bits_per_s", goodput},
                  {"allowed_bits_per_s", 10e9},
                  {"half_round_trip_us_p50", 10.0}}}}}}}}}};
}

TEST(ReportDiff, EqualReportsDifferInNothing) {
  const auto diff = compare_reports(report(9e9), report(9e9), 0.1);
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_TRUE(diff->changes.empty());
  EXPECT_EQ(diff->figures, 2u);
  EXPECT_FALSE(is_worse(*diff));
}

TEST(ReportDiff, AFigureThatFellByMoreThanTheToleranceIsWorse) {
  const auto diff = compare_reports(report(9e9), report(8e9), 0.1);
  ASSERT_TRUE(diff);
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].kind, ChangeKind::kWorse);
  EXPECT_EQ(diff->changes[0].where, "h0 to h1");
  EXPECT_THAT(diff->changes[0].after, HasSubstr("(-11%)"));
  EXPECT_FALSE(is_worse(*compare_reports(report(9e9), report(8e9), 0.2)));
  EXPECT_FALSE(is_worse(*compare_reports(report(8e9), report(9e9), 0.1)));
}

// An earlier heddle measured no plain sockets.
TEST(ReportDiff, FiguresThatAnEarlierReportLacksAreNoChange) {
  Json later = report(9e9);
  Json& pair = later["stages"][1]["data"]["pairs"][0];
  pair["tcp_bits_per_s"] = 5e9;
  pair["tcp_lat_us"] = 30.0;
  pair["udp_lat_us"] = 20.0;
  const auto diff = compare_reports(report(9e9), later, 0.1);
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_TRUE(diff->changes.empty());
  EXPECT_EQ(diff->figures, 2u);
  Json slower = later;
  slower["stages"][1]["data"]["pairs"][0]["tcp_lat_us"] = 60.0;
  ASSERT_EQ(compare_reports(later, slower, 0.1)->changes.size(), 1u);
  EXPECT_EQ(compare_reports(later, slower, 0.1)->figures, 5u);
}

// With a training stage.
Json trained(double step_s) {
  Json made = report(9e9);
  made["stages"].push_back({{"name", "training"},
                            {"outcome", "passed"},
                            {"rows", Json::array()},
                            {"data", {{"built_in", {{"step_s", step_s}, {"ideal_step_s", 0.4}}}}}});
  return made;
}

TEST(ReportDiff, ALongerTrainingStepIsWorse) {
  const auto diff = compare_reports(trained(0.5), trained(0.6), 0.1);
  ASSERT_TRUE(diff) << diff.error().message();
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].kind, ChangeKind::kWorse);
  EXPECT_EQ(diff->changes[0].what, "training step");
  EXPECT_EQ(diff->figures, 3u);
}

TEST(ReportDiff, AMoreLatentPairIsWorse) {
  Json later = report(9e9);
  later["stages"][1]["data"]["pairs"][0]["half_round_trip_us_p50"] = 20.0;
  const auto diff = compare_reports(report(9e9), later, 0.1);
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].kind, ChangeKind::kWorse);
}

TEST(ReportDiff, ARowThatFailsNowIsWorseAndOneThatIsFineAgainIsBetter) {
  const auto worse = compare_reports(report(9e9), report(9e9, "fail"), 0.1);
  EXPECT_TRUE(is_worse(*worse));
  EXPECT_EQ(worse->verdict_after, "FAIL");
  const auto better = compare_reports(report(9e9, "warn"), report(9e9), 0.1);
  ASSERT_EQ(better->changes.size(), 1u);
  EXPECT_EQ(better->changes[0].kind, ChangeKind::kBetter);
}

TEST(ReportDiff, ARowOfAStageThatDidNotRunIsNotFine) {
  Json later = report(9e9);
  later["stages"][1]["outcome"] = "not run";
  later["stages"][1]["rows"] = Json::array();
  const auto diff = compare_reports(report(9e9, "warn"), later, 0.1);
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].what, "stage");
  EXPECT_EQ(diff->changes[0].kind, ChangeKind::kWorse);
}

TEST(ReportDiff, FactsOfHostsThatChangedAreListedAndNotJudged) {
  const auto diff = compare_reports(report(9e9), report(9e9, "pass", "6.6"), 0.1);
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].kind, ChangeKind::kOther);
  EXPECT_EQ(diff->changes[0].where, "h0");
  EXPECT_EQ(diff->changes[0].after, "6.6");
  EXPECT_THAT(text_of(*diff), HasSubstr("PASS -> PASS: 0 worse, 0 better, 1 other changes"));
}

TEST(ReportDiff, ReportsOfOtherFabricsSaySo) {
  Json later = report(9e9);
  later["topology"] = "rack8.toml";
  EXPECT_THAT(text_of(*compare_reports(report(9e9), later, 0.1)),
              HasSubstr("note: topology was 'rack7.toml' and is 'rack8.toml'"));
}

TEST(ReportDiff, ADamagedReportIsAnError) {
  for (const char* const field : {"stages", "verdict", "topology"}) {
    Json damaged = report(9e9);
    damaged.erase(field);
    EXPECT_FALSE(compare_reports(damaged, report(9e9), 0.1)) << field;
    EXPECT_FALSE(compare_reports(report(9e9), damaged, 0.1)) << field;
  }
  EXPECT_FALSE(compare_reports(Json::array(), report(9e9), 0.1));
}

TEST(Baseline, IsTheWorstOfAllReportsLessTheMargin) {
  const auto text = baseline_of({report(9e9), report(8e9)}, 0.1);
  ASSERT_TRUE(text) << text.error().message();
  const auto read = parse_expectations(*text, "baseline");
  ASSERT_TRUE(read) << *text << read.error().message();
  EXPECT_NEAR(read->pair_share, 0.72, 0.001);
  EXPECT_EQ(read->collective_share, Expectations().collective_share) << "it was not measured";
}

TEST(Baseline, HasTheSpeedOfATrainingStepBesideTheFormula) {
  const auto text = baseline_of({trained(0.5), trained(0.8)}, 0.1);
  ASSERT_TRUE(text) << text.error().message();
  const auto read = parse_expectations(*text, "baseline");
  ASSERT_TRUE(read) << *text << read.error().message();
  EXPECT_NEAR(read->training_share, 0.45, 0.001);
}

TEST(Baseline, IsNotMadeOfAFabricThatFailed) {
  EXPECT_FALSE(baseline_of({report(9e9), report(9e9, "fail")}, 0.1));
}

TEST(Baseline, NeedsSpeeds) {
  Json without = report(9e9);
  without["stages"].erase(1);
  EXPECT_FALSE(baseline_of({without}, 0.1));
}

}  // namespace
}  // namespace heddle::acceptance
