// Stage traffic: what the recorded all-reduces and training sent from each rank to each other,
// beside the formulas of their algorithms; how much of it was hidden; and what diagnosis says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "acceptance/params.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/stages.h"
#include "acceptance/timeline_rows.h"

namespace heddle::acceptance {
namespace {

Result<CommandEnd> run_here(Session& session, const std::vector<std::string>& words) {
  const auto id = session.commands().start_here(words, {});
  if (!id) return fail(id.error());
  session.wait({*id}, params::kReadTime);
  return session.commands().result_of(*id);
}

struct Difference {
  double share = 0;  // of what is expected in all
  double worst = 0;  // of the largest expected cell
  std::string worst_pair;
};

Difference difference_of(const Json& matrix) {
  Difference found;
  double all = 0;
  double apart = 0;
  double largest = 0;
  double worst = 0;
  const Json& measured = matrix.at("measured");
  const Json& expected = matrix.at("expected");
  const Json& parties = matrix.at("parties");
  for (size_t from = 0; from < measured.size(); ++from) {
    for (size_t to = 0; to < measured.size(); ++to) {
      const auto is = measured[from][to].get<double>();
      const auto should = expected[from][to].get<double>();
      all += should;
      largest = std::max(largest, should);
      apart += std::abs(is - should);
      if (std::abs(is - should) <= worst) continue;
      worst = std::abs(is - should);
      found.worst_pair =
          fmt::format("{} to {}", parties[from].value("host", ""), parties[to].value("host", ""));
    }
  }
  found.share = all > 0 ? apart / all : 1;
  if (largest > 0) found.worst = worst / largest;
  return found;
}

void judge_matrix(const CommandEnd& end, const std::string& name, StageReport& report) {
  const std::optional<Json> matrix = document_of(end);
  const std::string todo = "run `heddle matrix --expected` on the recording and compare by rank";
  if (!matrix || !matrix->contains("expected")) {
    report.rows.push_back({"matrix", name, complaint_of(end), "a matrix", Grade::kFail, todo});
    return;
  }
  const Difference found = difference_of(*matrix);
  const bool fine = found.share <= params::kMatrixShare;
  report.rows.push_back(
      {"matrix",
       fmt::format("{}, {}", name,
                   fine ? fmt::format("{} ranks", matrix->value("ranks", 0)) : found.worst_pair),
       fmt::format("{:.4g} MB delivered, {:.2g}% other than the formulas say",
                   matrix->at("totals").value("measured", 0.0) / 1e6, found.share * 100),
       fmt::format("at most {:g}%", params::kMatrixShare * 100), fine ? Grade::kOk : Grade::kFail,
       fine ? "" : todo});
  report.data["matrices"].push_back({{"name", name},
                                     {"parties", matrix->at("parties")},
                                     {"measured", matrix->at("measured")},
                                     {"expected", matrix->at("expected")}});
}

// Hangs and mismatches are wrong anywhere; a slow rank of a disturbed machine is not the fabric's.
Grade grade_of_verdict(const Json& verdict, bool disturbed) {
  const std::string name = verdict.value("class", "");
  const bool speed = name.find("slow") != std::string::npos || name == "degradation";
  return speed && disturbed ? Grade::kWarn : Grade::kFail;
}

void judge_diagnosis(const CommandEnd& end, const Session::Recording& recording,
                     StageReport& report) {
  const std::optional<Json> document = document_of(end);
  if (!document) {
    report.rows.push_back({"diagnosis", recording.name, complaint_of(end), "a diagnosis",
                           Grade::kFail, "run `heddle diagnose` on the recording"});
    return;
  }
  const Json verdicts = document->value("verdicts", Json::array());
  for (const Json& verdict : verdicts) {
    report.rows.push_back({"diagnosis", verdict.value("place_text", recording.name),
                           verdict.value("summary", ""), "no verdict",
                           grade_of_verdict(verdict, recording.disturbed),
                           verdict.value("try", "run `heddle diagnose` on the recording")});
  }
  report.data["diagnoses"].push_back({{"name", recording.name}, {"diagnosis", *document}});
  if (!verdicts.empty()) return;
  const bool enough = document->value("enough_evidence", false);
  report.rows.push_back(
      {"diagnosis",
       fmt::format("{}, {} operations", recording.name, document->value("operations", 0)),
       enough ? "nothing hangs or is slow" : "too few operations to judge", "no verdict"});
}

// How much of the communication ran beside computation, over all ranks.
void judge_overlap(const CommandEnd& end, const std::string& name, StageReport& report) {
  const std::optional<Json> summary = document_of(end);
  if (!summary) {
    report.rows.push_back({"overlap", name, complaint_of(end), "a summary", Grade::kFail,
                           "run `heddle summary` on the recording"});
    return;
  }
  double exposed = 0;
  double hidden = 0;
  for (const Json& process : summary->value("processes", Json::array())) {
    exposed += number_of(process, "exposed_ns");
    hidden += number_of(process, "hidden_ns");
  }
  const double all = exposed + hidden;
  if (all == 0) return;
  report.rows.push_back(
      {"overlap", name,
       fmt::format("{:.0f}% of the communication ran beside computation", hidden / all * 100), ""});
  report.data["overlaps"].push_back(
      {{"name", name}, {"exposed_share", exposed / all}, {"hidden_share", hidden / all}});
}

// The calls of each rank and how long its caller waited, from the beginning of the first call: the
// longest kMostMoments of them.
void add_timeline(const CommandEnd& end, const std::string& name, const Json& parties,
                  StageReport& report) {
  Timeline timeline = timeline_of_csv(end.output, params::kMostMoments);
  if (timeline.moments.empty()) return;
  Json hosts = Json::array();
  for (const Json& party : parties) hosts.push_back(party.value("host", ""));
  Json moments = Json::array();
  for (const TimelineMoment& each : timeline.moments) {
    moments.push_back(
        {each.process, each.is_wait ? "wait" : "call", each.name, each.begin_ns, each.end_ns});
  }
  report.data["timelines"].push_back({{"name", name},
                                      {"hosts", std::move(hosts)},
                                      {"span_ns", timeline.span_ns},
                                      {"left_out", timeline.left_out},
                                      {"moments", std::move(moments)}});
}

Result<void> read_recording(Session& session, const Session::Recording& recording,
                            StageReport& report) {
  const std::string& folder = recording.folder;
  const auto matrix = run_here(session, {"heddle", "matrix", folder, "--expected", "--json"});
  if (!matrix) return fail(matrix.error());
  const auto summary = run_here(session, {"heddle", "summary", folder, "--json"});
  if (!summary) return fail(summary.error());
  const auto timeline =
      run_here(session, {"heddle", "timeline", folder, "--format", "csv", "--only", "call,wait"});
  if (!timeline) return fail(timeline.error());
  const auto diagnosis = run_here(session, {"heddle", "diagnose", folder, "--json"});
  if (!diagnosis) return fail(diagnosis.error());
  if (session.interrupted()) return {};
  judge_matrix(*matrix, recording.name, report);
  if (const auto found = document_of(*matrix); found && found->contains("parties")) {
    add_timeline(*timeline, recording.name, found->at("parties"), report);
  }
  if (recording.overlaps) judge_overlap(*summary, recording.name, report);
  judge_diagnosis(*diagnosis, recording, report);
  return {};
}

}  // namespace

Result<void> run_traffic(Session& session, StageReport& report) {
  if (session.recordings.empty()) {
    Result<BenchResult> bench = run_recorded_all_reduce(session);
    if (!bench) return fail(std::move(bench).error());
    if (session.interrupted()) return {};
    if (bench->sizes.empty()) {
      report.rows.push_back({"matrix", "all-reduces", bench->complaint, "a recording", Grade::kFail,
                             "see the stage collectives"});
      return {};
    }
    session.recordings.push_back({"all-reduces", bench->recording, session.disturbed()});
  }
  for (const Session::Recording& recording : session.recordings) {
    if (Result<void> read = read_recording(session, recording, report); !read) return read;
    if (session.interrupted()) return {};
  }
  return {};
}

}  // namespace heddle::acceptance
