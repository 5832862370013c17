// Report diff: what counts as worse, and baselines.
#include "acceptance/report_diff.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

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

TEST(ReportDiff, FiguresOfRdmaOfFurtherNicsAndOfResNet18AreCompared) {
  const auto with = [](double factor) {
    Json made = report(9e9);
    made["stages"][1]["data"]["pairs"][0]["rc_bw_bits_per_s"] = 96e9 * factor;
    made["stages"][1]["data"]["pairs"][0]["rc_lat_us"] = 3 / factor;
    const Json nic = {
        {"device", "eth2"}, {"from", "h0"}, {"to", "h1"}, {"goodput_bits_per_s", 9e9 * factor}};
    made["stages"][1]["data"]["nic_pairs"] = Json::array({nic});
    const Json run = {{"backend", "heddle"}, {"ranks", 2}, {"images_per_s", 30.0 * factor}};
    made["stages"].push_back({{"name", "training"},
                              {"outcome", "passed"},
                              {"rows", Json::array()},
                              {"data", {{"torch", Json::array({run})}}}});
    return made;
  };
  const auto diff = compare_reports(with(1), with(0.5), 0.1);
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_EQ(diff->figures, 6u);
  std::vector<std::string> worse;
  for (const ReportChange& change : diff->changes) {
    EXPECT_EQ(change.kind, ChangeKind::kWorse);
    worse.push_back(change.what);
  }
  EXPECT_THAT(worse, testing::UnorderedElementsAre("rc_bw", "rc_lat", "goodput of eth2",
                                                   "ResNet-18 over heddle, images a second"));
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

// Of collectives whose bus bandwidth is these shares of their bounds.
Json with_collectives(double all_reduce, double all_gather, double all_to_all, double load) {
  const auto of = [](double share, const char* test) {
    return Json{{"test", test},
                {"bytes", 8 << 20},
                {"bus_bits_per_s", share * 1e9},
                {"bound_bits_per_s", 1e9}};
  };
  Json made = report(9e9);
  Json small = of(0.01, "allreduce");
  small["bytes"] = 1024;
  made["stages"].push_back(
      {{"name", "collectives"},
       {"outcome", "passed"},
       {"rows", Json::array()},
       {"data",
        {{"sizes", {small, of(all_reduce, "allreduce")}},
         {"others", {of(all_gather, "allgather"), of(all_to_all, "alltoall")}}}}});
  made["stages"].push_back({{"name", "stress"},
                            {"outcome", "passed"},
                            {"rows", Json::array()},
                            {"data", {{"all_to_all", of(load, "alltoall")}}}});
  return made;
}

// A fabric failed by its own baseline: its all-to-all was judged by what its all-reduce had
// reached.
TEST(Baseline, CollectivesAndAllToAllHaveTheWorstOfTheirOwn) {
  const auto text = baseline_of(
      {with_collectives(0.95, 0.8, 0.62, 0.7), with_collectives(0.95, 0.9, 0.7, 0.6)}, 0.1);
  ASSERT_TRUE(text) << text.error().message();
  const auto read = parse_expectations(*text, "baseline");
  ASSERT_TRUE(read) << *text << read.error().message();
  EXPECT_NEAR(read->collective_share, 0.72, 0.001);
  EXPECT_NEAR(read->all_to_all_share, 0.54, 0.001);
}

TEST(ReportDiff, CollectivesAreComparedAndSmallAllReducesAreNot) {
  Json before = with_collectives(0.95, 0.8, 0.62, 0.7);
  Json after = with_collectives(0.95, 0.6, 0.62, 0.5);
  after["stages"][2]["data"]["sizes"][0]["bus_bits_per_s"] = 1;
  const auto diff = compare_reports(before, after, 0.1);
  ASSERT_TRUE(diff) << diff.error().message();
  ASSERT_EQ(diff->changes.size(), 2u);
  EXPECT_EQ(diff->changes[0].what, "allgather");
  EXPECT_EQ(diff->changes[1].what, "all-to-all, bus bandwidth");
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

Json with_link(double rate) {
  Json made = report(9e9);
  made["fabric"] = rate > 1e9 ? "rack7" : "rack8";
  made["links"] = {{{"label", "h0 - leaf0"}, {"rate_bits_per_s", rate}}};
  return made;
}

TEST(Baseline, IsNotMadeOfTwoFabrics) {
  EXPECT_TRUE(baseline_of({with_link(10e9), with_link(10e9)}, 0.1));
  const auto mixed = baseline_of({with_link(10e9), with_link(1e9)}, 0.1);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message(), HasSubstr("'rack7' and 'rack8'"));
}

TEST(Baseline, NotesReportsOfOtherDepthsAndDisturbedOnes) {
  EXPECT_THAT(*baseline_of({report(9e9)}, 0.1), testing::Not(HasSubstr("depths")));
  Json other = report(9e9);
  other["depth"] = "quick";
  other["emulated"] = true;
  const auto text = baseline_of({report(9e9), other}, 0.1);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("# Their depths differ: 1 normal, 1 quick"));
  EXPECT_THAT(*text, HasSubstr("# Other programs disturbed 1 of them"));
  EXPECT_TRUE(parse_expectations(*text, "baseline"));
}

TEST(Baseline, HasRatesAndErrorsOfLinks) {
  Json first = report(9e9);
  first["stages"][1]["data"]["links"] = {{"least_share", 0.9}, {"errors_per_million", 0.0}};
  Json second = first;
  second["stages"][1]["data"]["links"] = {{"least_share", 0.8}, {"errors_per_million", 500.0}};
  const auto read = parse_expectations(*baseline_of({first, second}, 0.1), "baseline");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_NEAR(read->link_share, 0.72, 0.001);
  EXPECT_EQ(read->errors_per_million, 550u);
  EXPECT_EQ(parse_expectations(*baseline_of({first}, 0.1), "baseline")->errors_per_million, 10u);
}

// RC is judged by the same share: a fabric whose RC reaches less failed by its own baseline.
TEST(Baseline, ThePairShareCoversRcAndFurtherNics) {
  Json both = report(9e9);
  both["stages"][1]["data"]["pairs"][0]["rc_bw_bits_per_s"] = 60e9;
  EXPECT_NEAR(parse_expectations(*baseline_of({both}, 0.1), "baseline")->pair_share, 0.81, 0.001)
      << "with several routes RC is not judged";
  both["stages"][1]["data"]["pairs"][0]["rc_allowed_bits_per_s"] = 100e9;
  EXPECT_NEAR(parse_expectations(*baseline_of({both}, 0.1), "baseline")->pair_share, 0.54, 0.001);
  const Json nic = {
      {"device", "eth2"},           {"from", "h0"},   {"to", "h1"}, {"goodput_bits_per_s", 5e9},
      {"allowed_bits_per_s", 10e9}, {"planned", true}};
  both["stages"][1]["data"]["nic_pairs"] = Json::array({nic});
  EXPECT_NEAR(parse_expectations(*baseline_of({both}, 0.1), "baseline")->pair_share, 0.45, 0.001);
}

TEST(Baseline, NeedsSpeeds) {
  Json without = report(9e9);
  without["stages"].erase(1);
  EXPECT_FALSE(baseline_of({without}, 0.1));
}

// Both reports may be of others' making.
TEST(ReportDiff, TextOfNoFieldHasEscapeSequencesOrLinesOfItsOwn) {
  const std::string evil = "evil\x1b]0;owned\x07\nworse";
  const ReportDiff diff{evil, evil, {evil}, {{ChangeKind::kOther, evil, evil, evil, evil, evil}}};
  const std::string text = text_of(diff);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(text.find("\nworse"), std::string::npos);
}

}  // namespace
}  // namespace heddle::acceptance
