// An earlier report read back, and what of it a test that goes on keeps.
#include "acceptance/earlier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "acceptance/documents.h"
#include "base/temporary_folder.h"
#include "topology/generators.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;

topology::Topology small_fabric() { return topology::leaf_spine({.leaves = 2, .spines = 2}); }

// Stages of these outcomes, in order.
Report report_with(const std::vector<StageOutcome>& outcomes) {
  Report report{.fabric = "rack7", .topology = "rack7.toml"};
  report.started = "2026-11-25 18:45:19 UTC";
  report.start_ms = 1795632319000;
  report.depth = "quick";
  report.coverage = "ring";
  report.asked = {{"lab", "rack7"}};
  report.versions = {{"heddle", "0.0.1"}, {"kernel", "Linux"}};
  report.notes = {"disturbed"};
  report.headlines = {{"latency", "14 us", "idle"}};
  report.nodes = {{"h0", 0, false}, {"leaf0", 1, true}};
  const topology::Topology fabric = small_fabric();
  for (uint32_t i = 0; i < fabric.links.size(); ++i) {
    report.links.push_back({"a",
                            "b",
                            topology::link_label(fabric, i),
                            static_cast<double>(fabric.links[i].shape.rate.count),
                            {1e6, 1234, 5, 6},
                            {2e6, 99, 0, 1},
                            i == 1});
  }
  for (const StageOutcome outcome : outcomes) {
    StageReport stage{.name = "stage" + std::to_string(report.stages.size()),
                      .title = "A stage",
                      .outcome = outcome};
    stage.started = "2026-11-25 18:46:00 UTC";
    stage.seconds = 1.5;
    stage.rows = {{"goodput", "h0 to h1", "9 Mb/s", "10 Mb/s", Grade::kWarn, "look"},
                  {"MTU", "h0", "1500", "", Grade::kOk, ""}};
    stage.commands = {"heddle perf h1"};
    stage.loads = {{{1e6, 12, 3, 4}, {2e6, 5, 6, 7}}};
    stage.data["pairs"] = {{{"from", "h0"}, {"to", "h1"}, {"failed", true}}};
    report.stages.push_back(stage);
  }
  return report;
}

TEST(Earlier, AReportReadBackWritesTheSameDocument) {
  Report report =
      report_with({StageOutcome::kPassed, StageOutcome::kInterrupted, StageOutcome::kFailed,
                   StageOutcome::kBroken, StageOutcome::kNotRun});
  report.stages[3].reason = "no answer";
  report.complete = false;
  report.signal = 2;
  const Json document = json_of(report);
  const Result<Report> read = report_of(Json::parse(document.dump()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(json_of(*read), document);
  EXPECT_EQ(read->start_ms, report.start_ms);
}

TEST(Earlier, AReportWithoutAFieldOrOfOtherTypesIsRefused) {
  const Json whole = json_of(report_with({StageOutcome::kPassed, StageOutcome::kNotRun}));
  for (const auto& [field, value] : whole.items()) {
    Json without = whole;
    without.erase(field);
    Json other = whole;
    other[field] = value.is_array() ? Json(7) : Json::array({Json::array()});
    // What json_of() counts anew, and what only the caller reads.
    const bool counted = field == "verdict" || field == "summary" || field == "failed" ||
                         field == "warnings" || field == "passed" || field == "information";
    EXPECT_EQ(static_cast<bool>(report_of(without)), counted) << field;
    EXPECT_EQ(static_cast<bool>(report_of(other)), counted || field == "asked") << field;
  }
}

TEST(Earlier, StagesAreKeptUpToTheFirstThatDidNotPass) {
  using enum StageOutcome;
  EXPECT_EQ(kept_stages(report_with({kPassed, kPassed, kInterrupted, kNotRun})), 2u);
  EXPECT_EQ(kept_stages(report_with({kPassed, kFailed, kPassed})), 1u);
  EXPECT_EQ(kept_stages(report_with({kNotRun})), 0u);
  Report with_rest = report_with({kPassed, kPassed});
  with_rest.stages[1].name = kRestStage;
  EXPECT_EQ(kept_stages(with_rest), 1u);
}

const std::vector<std::string> kTwoStages = {"stage0", "stage1"};

TEST(Earlier, ATestOfAnotherFabricOrOfOtherStagesIsRefused) {
  const Report report = report_with({StageOutcome::kPassed, StageOutcome::kNotRun});
  topology::Topology fabric = small_fabric();
  EXPECT_TRUE(check_earlier(report, fabric, kTwoStages));
  EXPECT_FALSE(check_earlier(report, fabric, {"stage1"}));
  EXPECT_FALSE(check_earlier(report, fabric, {}));
  fabric.links[0].shape.rate.count += 1;
  EXPECT_FALSE(check_earlier(report, fabric, kTwoStages));
  EXPECT_FALSE(check_earlier(report, topology::leaf_spine({.leaves = 2, .spines = 4}), kTwoStages));
}

TEST(Earlier, ATestWithNothingLeftIsRefusedUnlessItsReportWasNotFinished) {
  Report report = report_with({StageOutcome::kPassed, StageOutcome::kPassed});
  const Result<void> done = check_earlier(report, small_fabric(), kTwoStages);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("all its stages passed"));
  report.complete = false;  // killed after its last stage
  EXPECT_TRUE(check_earlier(report, small_fabric(), kTwoStages));
}

TEST(Earlier, RecordingsThatAreStillInTheFolderAreUsedAgain) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make("heddle-earlier-test");
  ASSERT_TRUE(folder);
  std::filesystem::create_directory(folder->path() + "/recording");
  StageReport stage{.name = "collectives", .title = ""};
  note_recordings({{"all-reduces", folder->path() + "/recording", true, false},
                   {"training", folder->path() + "/training", false, true}},
                  stage);
  const auto found = recordings_of(stage, folder->path());
  ASSERT_EQ(found.size(), 1u) << "the other folder is not there";
  EXPECT_EQ(found[0].name, "all-reduces");
  EXPECT_EQ(found[0].folder, folder->path() + "/recording");
  EXPECT_TRUE(found[0].disturbed);
  EXPECT_FALSE(found[0].overlaps);
}

TEST(Earlier, ARecordingOutsideOfTheFolderIsNotRead) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make("heddle-earlier-test");
  ASSERT_TRUE(folder);
  for (const char* const name : {"..", "/etc", "../../etc", ""}) {
    StageReport stage{.name = "collectives", .title = ""};
    note_recordings({{"all-reduces", "x", false, false}}, stage);
    stage.data["recordings"][0]["folder"] = name;
    EXPECT_TRUE(recordings_of(stage, folder->path()).empty()) << name;
  }
}

TEST(Earlier, NotesNameTheStagesOfEachTestAndAnotherVersion) {
  Report report = report_with({StageOutcome::kPassed, StageOutcome::kNotRun});
  report.notes.push_back("resumed 2026-11-25 20:00:00 UTC; kept: nothing");
  const std::vector<std::string> notes = resumed_notes(report, "2026-11-26 08:00:00 UTC");
  ASSERT_EQ(notes.size(), 2u) << "what disturbed the earlier test is found anew";
  EXPECT_EQ(notes[0], "resumed 2026-11-25 20:00:00 UTC; kept: nothing");
  EXPECT_EQ(notes[1],
            "resumed 2026-11-26 08:00:00 UTC; kept: stage0 (2026-11-25 18:46:00 UTC); by heddle "
            "0.0.1");
}

TEST(Earlier, DataOfOtherTypesThanStagesMakeAreRefused) {
  Json document = json_of(report_with({StageOutcome::kPassed, StageOutcome::kNotRun}));
  for (const char* const data :
       {R"({"recordings": [{"folder": 5}]})", R"({"counted": [5]})",
        R"({"counted": [{"place": "h0", "nics": 5}]})", R"({"pairs": [1]})",
        R"({"pairs": [{"reached": "no"}]})", R"({"sizes": [5]})", R"({"victim": 5})"}) {
    document["stages"][0]["data"] = Json::parse(data);
    EXPECT_FALSE(report_of(document)) << data;
  }
}

TEST(Earlier, DataThatAreNoObjectAreRefused) {
  Json document = json_of(report_with({StageOutcome::kPassed, StageOutcome::kNotRun}));
  document["stages"][0]["data"] = nullptr;
  EXPECT_FALSE(report_of(document));
  StageReport stage{.name = "collectives", .title = ""};
  stage.data["recordings"] = Json::array({5, nullptr, Json::object()});
  EXPECT_TRUE(recordings_of(stage, "/").empty());
}

}  // namespace
}  // namespace heddle::acceptance
