// Stage traffic: matrices that differ, verdicts of a diagnosis, and hidden communication as rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// What the commands that read a recording print.
struct Documents {
  Json matrix;
  Json diagnosis = {{"verdicts", Json::array()}, {"operations", 40}, {"enough_evidence", true}};
  Json summary = {{"processes", Json::array({{{"exposed_ns", 25}, {"hidden_ns", 75}}})}};
  bool disturbed = false;
};

// Of two ranks that send a million bytes each.
Json matrix_of(double h0_to_h1, double h1_to_h0) {
  return {{"ranks", 2},
          {"parties", {{{"host", "h0"}}, {{"host", "h1"}}}},
          {"measured", {{0, h0_to_h1}, {h1_to_h0, 0}}},
          {"expected", {{0, 1e6}, {1e6, 0}}},
          {"totals", {{"measured", h0_to_h1 + h1_to_h0}}}};
}

// What the stage makes of one recording.
StageMade read_recording(const ScriptedFabric& fabric, bool disturbed) {
  return made_by(
      [&](Session& session, StageReport& report) {
        session.recordings.push_back({"training", "/nonexistent", disturbed, true});
        return run_traffic(session, report);
      },
      fabric);
}

StageMade read_documents(const Documents& documents) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [&documents](const Asked& asked) -> Answer {
    if (asked.is("matrix")) return {documents.matrix.dump()};
    if (asked.is("diagnose")) return {documents.diagnosis.dump()};
    if (asked.is("summary")) return {documents.summary.dump()};
    if (asked.is("overlap")) return healthy_answer(asked);
    return {"", "heddle: there is nothing\n", 2};
  };
  return read_recording(fabric, documents.disturbed);
}

TEST(Traffic, AMatrixAsTheFormulasSayPasses) {
  const StageMade made = read_documents({.matrix = matrix_of(1e6, 1e6)});
  EXPECT_EQ(made.error, "");
  ASSERT_THAT(made.rows("matrix"), SizeIs(1));
  EXPECT_EQ(made.row("matrix").grade, Grade::kOk);
  EXPECT_EQ(made.row("matrix").where, "training, 2 ranks");
  EXPECT_EQ(made.row("matrix").measured, "2 MB delivered, 0% other than the formulas say");
  EXPECT_EQ(made.report.data["matrices"][0]["measured"][0][1], 1e6);
  EXPECT_EQ(made.report.data["matrices"][0]["expected"][0][1], 1e6);
  EXPECT_EQ(made.row("diagnosis").measured, "nothing hangs or is slow");
  EXPECT_EQ(made.row("overlap").measured, "75% of the communication ran beside computation");
}

TEST(Traffic, AMatrixThatDiffersFailsAtThePairThatDiffersMost) {
  const StageMade made = read_documents({.matrix = matrix_of(1.01e6, 0.9e6)});
  ASSERT_THAT(made.rows("matrix"), SizeIs(1));
  const Row row = made.row("matrix");
  EXPECT_EQ(row.grade, Grade::kFail);
  EXPECT_EQ(row.where, "training, h1 to h0");
  EXPECT_EQ(row.measured, "1.91 MB delivered, 5.5% other than the formulas say");
  EXPECT_EQ(row.expected, "at most 1%");
  EXPECT_THAT(row.todo, HasSubstr("heddle matrix --expected"));
  EXPECT_EQ(grade_of(made.report), Grade::kFail);
}

TEST(Traffic, ADifferenceUpToTheThresholdPasses) {
  const auto grade = [](double bytes) {
    return read_documents({.matrix = matrix_of(bytes, bytes)}).row("matrix").grade;
  };
  EXPECT_EQ(grade(1.009e6), Grade::kOk);
  EXPECT_EQ(grade(1.011e6), Grade::kFail);
  EXPECT_EQ(grade(0.989e6), Grade::kFail);
  EXPECT_EQ(grade(0), Grade::kFail);
}

// Of more than 1,024 ranks `heddle matrix` prints triples: the stage once said "exit status 0".
TEST(Traffic, AMatrixOfManyRanksIsJudgedByItsTriples) {
  Json matrix = matrix_of(0, 0);
  matrix.erase("measured");
  matrix.erase("expected");
  matrix["expected_triples"] = {{0, 1, 1e6}, {1, 0, 1e6}};
  matrix["measured_triples"] = {{0, 1, 1e6}, {1, 0, 1e6}};
  const StageMade fine = read_documents({.matrix = matrix});
  EXPECT_EQ(fine.row("matrix").grade, Grade::kOk);
  EXPECT_FALSE(fine.report.data.contains("matrices")) << "it is too large to be drawn";
  matrix["measured_triples"] = {{0, 1, 1e6}};
  const StageMade made = read_documents({.matrix = matrix});
  EXPECT_EQ(made.row("matrix").grade, Grade::kFail);
  EXPECT_EQ(made.row("matrix").where, "training, h1 to h0");
}

// A page of 256 ranks showed no stage at all: the largest value of a matrix was sought by a call
// with more arguments than browsers take.
TEST(Traffic, AMatrixThatIsTooLargeToBeDrawnIsJudgedAndNotKept) {
  for (const size_t ranks : {params::kMostDrawnRanks, params::kMostDrawnRanks + 1}) {
    const Json rows = Json::array_t(ranks, Json::array_t(ranks, 1));
    Json matrix = matrix_of(0, 0);
    matrix["ranks"] = ranks;
    matrix["parties"] = Json::array_t(ranks, {{"host", "h0"}});
    matrix["measured"] = rows;
    matrix["expected"] = rows;
    const StageMade made = read_documents({.matrix = matrix});
    EXPECT_EQ(made.row("matrix").grade, Grade::kOk);
    EXPECT_EQ(made.report.data.contains("matrices"), ranks == params::kMostDrawnRanks);
  }
}

TEST(Traffic, ARecordingThatCannotBeReadFails) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [](const Asked&) { return Answer{"", "heddle: it is cut off\n", 2}; };
  const StageMade made = read_recording(fabric, false);
  for (const char* const check : {"matrix", "overlap", "diagnosis"}) {
    ASSERT_THAT(made.rows(check), SizeIs(1)) << check;
    EXPECT_EQ(made.row(check).grade, Grade::kFail);
    EXPECT_EQ(made.row(check).measured, "it is cut off");
    EXPECT_THAT(made.row(check).todo, HasSubstr("recording"));
  }
}

// The formula's share, of which the stage training calculates the step, was known and not compared.
TEST(Traffic, WhatIsHiddenOfTheBuiltInJobIsJudgedByTheFormula) {
  Documents documents{.matrix = matrix_of(1e6, 1e6)};
  const Row fine = read_documents(documents).row("overlap");
  EXPECT_EQ(fine.expected, "at least 34%; the formula says 80%");
  EXPECT_EQ(fine.grade, Grade::kOk);
  documents.summary["processes"][0]["hidden_ns"] = 5;
  const StageMade made = read_documents(documents);
  EXPECT_EQ(made.row("overlap").grade, Grade::kFail);
  EXPECT_FALSE(made.row("overlap").todo.empty());
  EXPECT_NEAR(made.report.data["overlaps"][0]["formula_hidden_share"].get<double>(), 0.8, 1e-9);
}

Json verdict_of(const std::string& name) {
  return {{"class", name},
          {"place_text", "rank 1 on h1"},
          {"summary", "it waits for rank 1"},
          {"try", "see what rank 1 does"}};
}

StageMade with_verdicts(const Json& verdicts, bool disturbed) {
  Documents documents{.matrix = matrix_of(1e6, 1e6), .disturbed = disturbed};
  documents.diagnosis["verdicts"] = verdicts;
  return read_documents(documents);
}

TEST(Traffic, EachVerdictOfTheDiagnosisIsARow) {
  const StageMade made =
      with_verdicts({verdict_of("communication_hang"), verdict_of("communication_slow")}, false);
  const std::vector<Row> rows = made.rows("diagnosis");
  ASSERT_THAT(rows, SizeIs(2)) << "and none that says that nothing is wrong";
  for (const Row& row : rows) {
    EXPECT_EQ(row.grade, Grade::kFail);
    EXPECT_EQ(row.where, "rank 1 on h1");
    EXPECT_EQ(row.measured, "it waits for rank 1");
    EXPECT_EQ(row.expected, "no verdict");
    EXPECT_EQ(row.todo, "see what rank 1 does");
  }
  EXPECT_EQ(made.report.data["diagnoses"][0]["diagnosis"]["verdicts"].size(), 2);
}

TEST(Traffic, SlownessOfADisturbedMachineIsAWarningAndAHangIsNone) {
  const auto grade = [](const char* name, bool disturbed) {
    return with_verdicts(Json::array({verdict_of(name)}), disturbed).row("diagnosis").grade;
  };
  EXPECT_EQ(grade("non_communication_slow", true), Grade::kWarn);
  EXPECT_EQ(grade("degradation", true), Grade::kWarn);
  EXPECT_EQ(grade("non_communication_hang", true), Grade::kFail);
  EXPECT_EQ(grade("degradation", false), Grade::kFail);
}

TEST(Traffic, TooFewOperationsJudgeNothing) {
  Documents documents{.matrix = matrix_of(1e6, 1e6)};
  documents.diagnosis["enough_evidence"] = false;
  const StageMade made = read_documents(documents);
  EXPECT_EQ(made.row("diagnosis").measured, "too few operations to judge");
}

}  // namespace
}  // namespace heddle::acceptance
