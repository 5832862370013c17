// See earlier.h.
#include "acceptance/earlier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "acceptance/documents.h"
#include "acceptance/headlines.h"
#include "acceptance/live_figures.h"
#include "acceptance/report_document.h"
#include "acceptance/run_counts.h"
#include "acceptance/stages/rest.h"
#include "base/version.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kRecordings = "recordings";  // in a stage's data

// Null is an empty text.
std::string text_at(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_null() ? std::string() : value.get<std::string>();
}

Json::other_error wrong(const std::string& why) {
  return Json::other_error::create(501, why, nullptr);
}

Grade grade_named(const std::string& name) {
  if (name == "info") return Grade::kOk;
  for (const Grade grade : {Grade::kOk, Grade::kWarn, Grade::kFail}) {
    if (name == word_of(grade)) return grade;
  }
  throw wrong("no grade is called " + name);
}

StageOutcome outcome_named(const std::string& name) {
  for (const StageOutcome outcome : kStageOutcomes) {
    if (name == name_of(outcome)) return outcome;
  }
  throw wrong("no outcome is called " + name);
}

Row row_of(const Json& row) {
  return {text_at(row, "check"),
          text_at(row, "where"),
          text_at(row, "measured"),
          text_at(row, "expected"),
          grade_named(row.at("grade").get<std::string>()),
          text_at(row, "todo")};
}

uint64_t count_at(const Json& object, const char* key) {
  const Json& value = object.at(key);
  if (!value.is_number_unsigned()) throw wrong(fmt::format("'{}' is no count", key));
  return value.get<uint64_t>();
}

LinkLoad load_of(const Json& load) {
  return {load.at("peak_bits_per_s").get<double>(), count_at(load, "bytes"),
          count_at(load, "dropped"), count_at(load, "errors"),
          load.contains("marked") ? count_at(load, "marked") : 0};
}

StageReport stage_of(const Json& stage) {
  StageReport made{.name = text_at(stage, "name"),
                   .title = text_at(stage, "title"),
                   .outcome = outcome_named(stage.at("outcome").get<std::string>()),
                   .reason = text_at(stage, "reason"),
                   .started = text_at(stage, "started"),
                   .seconds = stage.at("seconds").get<double>()};
  for (const Json& row : stage.at("rows")) made.rows.push_back(row_of(row));
  made.commands = stage.at("commands").get<std::vector<std::string>>();
  for (const Json& each : stage.at("loads")) {
    made.loads.push_back({load_of(each.at("forward")), load_of(each.at("backward"))});
  }
  made.data = stage.at("data");
  if (!made.data.is_object()) throw wrong("the data of stage " + made.name + " are no object");
  return made;
}

LinkReport link_of(const Json& link) {
  return {text_at(link, "a"),           text_at(link, "b"),
          text_at(link, "label"),       link.at("rate_bits_per_s").get<double>(),
          load_of(link.at("forward")),  load_of(link.at("backward")),
          link.at("named").get<bool>(), link.value("counted", true)};
}

// Milliseconds since 1970 of Report::started; 0 for another text.
int64_t milliseconds_of(const std::string& started) {
  tm parts{};
  if (strptime(started.c_str(), "%Y-%m-%d %H:%M:%S UTC", &parts) == nullptr) return 0;
  return int64_t{timegm(&parts)} * 1000;
}

Report whole_report_of(const Json& document) {
  Report report{.fabric = text_at(document, "fabric"),
                .topology = text_at(document, "topology"),
                .emulated = document.at("emulated").get<bool>(),
                .started = text_at(document, "started")};
  report.start_ms = milliseconds_of(report.started);
  report.seconds = document.at("seconds").get<double>();
  report.depth = text_at(document, "depth");
  report.coverage = text_at(document, "coverage");
  report.signal = document.at("signal").get<int>();
  report.complete = document.at("complete").get<bool>();
  report.asked = document.at("asked");
  for (const Json& each : document.at("headlines")) {
    report.headlines.push_back(
        {text_at(each, "label"), text_at(each, "value"), text_at(each, "note")});
  }
  for (const Json& stage : document.at("stages")) report.stages.push_back(stage_of(stage));
  for (const Json& node : document.at("nodes")) {
    report.nodes.push_back(
        {text_at(node, "name"), node.at("tier").get<uint32_t>(), node.at("named").get<bool>()});
  }
  for (const Json& link : document.at("links")) report.links.push_back(link_of(link));
  for (const auto& [name, value] : document.at("versions").items()) {
    report.versions.emplace_back(name, value.get<std::string>());
  }
  report.notes = document.at("notes").get<std::vector<std::string>>();
  report.others_busy_share = document.at("others_busy_share").get<double>();
  return report;
}

// Reads all that a test which goes on with this one reads of its stages' data, so that data of
// another's making throw here, before anything is tested.
void read_data(const Report& report) {
  Report probe = report;
  add_headlines(probe);
  LiveFigures live(report.fabric);
  for (const StageReport& stage : report.stages) {
    live.begin_stage(stage.name);
    live.end_stage(stage);
    static_cast<void>(counts_in(stage));
    static_cast<void>(failed_pairs(stage));
    static_cast<void>(recordings_of(stage, ""));
  }
  static_cast<void>(text_of(report));
}

Error cannot_resume(const std::string& why, const std::string& todo) {
  return {ErrorCode::kInvalid, "cannot go on with the earlier test", why, todo};
}

}  // namespace

Result<Report> report_of(const Json& document) {
  try {
    Report report = whole_report_of(document);
    read_data(report);
    return report;
  } catch (const Json::exception& error) {
    return fail(no_report(error.what()));
  }
}

size_t kept_stages(const Report& earlier) {
  const auto other =
      std::find_if(earlier.stages.begin(), earlier.stages.end(), [](const StageReport& stage) {
        return stage.outcome != StageOutcome::kPassed || stage.name == kRestStage;
      });
  return static_cast<size_t>(other - earlier.stages.begin());
}

Result<void> check_earlier(const Report& earlier, const topology::Topology& fabric,
                           const std::vector<std::string>& stages) {
  const size_t kept = kept_stages(earlier);
  if (earlier.complete && kept == earlier.stages.size()) {
    return fail(cannot_resume("all its stages passed", "test anew, into another folder"));
  }
  for (size_t i = 0; i < kept; ++i) {
    if (i < stages.size() && earlier.stages[i].name == stages[i]) continue;
    return fail(
        cannot_resume(fmt::format("its stage {} is '{}', which is not tested here in that place",
                                  i + 1, earlier.stages[i].name),
                      "test anew, into another folder"));
  }
  bool same = earlier.links.size() == fabric.links.size();
  for (uint32_t i = 0; same && i < fabric.links.size(); ++i) {
    same =
        earlier.links[i].label == topology::link_label(fabric, i) &&
        earlier.links[i].rate_bits_per_s == static_cast<double>(fabric.links[i].shape.rate.count);
  }
  if (same) return {};
  return fail(cannot_resume("the fabric's links or their rates are others than then",
                            "test the fabric anew, into another folder"));
}

void note_recordings(const std::vector<Session::Recording>& made, StageReport& stage) {
  if (made.empty()) return;
  Json noted = Json::array();
  for (const Session::Recording& each : made) {
    noted.push_back({{"name", each.name},
                     {"folder", std::filesystem::path(each.folder).filename().string()},
                     {"disturbed", each.disturbed},
                     {"overlaps", each.overlaps}});
  }
  stage.data[kRecordings] = std::move(noted);
}

std::vector<Session::Recording> recordings_of(const StageReport& kept, const std::string& folder) {
  std::vector<Session::Recording> recordings;
  for (const Json& each : kept.data.value(kRecordings, Json::array())) {
    if (!each.is_object()) continue;
    // The name of a folder in the report's, and not a way out of it.
    const std::filesystem::path name = std::filesystem::path(each.value("folder", "")).filename();
    const std::string path = folder + "/" + name.string();
    if (name.empty() || name == ".." || access(path.c_str(), R_OK | X_OK) != 0) continue;
    recordings.push_back({each.value("name", ""), path, each.value("disturbed", false),
                          each.value("overlaps", false)});
  }
  return recordings;
}

std::vector<std::string> resumed_notes(const Report& earlier, const std::string& now) {
  constexpr std::string_view kResumed = "resumed ";
  std::vector<std::string> notes;
  for (const std::string& each : earlier.notes) {
    if (each.starts_with(kResumed)) notes.push_back(each);
  }
  std::vector<std::string> kept;
  for (size_t i = 0; i < kept_stages(earlier); ++i) {
    kept.push_back(fmt::format("{} ({})", earlier.stages[i].name, earlier.stages[i].started));
  }
  std::string note =
      fmt::format("{}{}; kept: {}", kResumed, now,
                  kept.empty() ? "nothing" : fmt::format("{}", fmt::join(kept, ", ")));
  for (const auto& [name, value] : earlier.versions) {
    if (name == "heddle" && value != kVersion) note += fmt::format("; by heddle {}", value);
  }
  notes.push_back(note);
  return notes;
}

}  // namespace heddle::acceptance
