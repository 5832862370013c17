// Stage traffic: what the recorded all-reduces and training sent from each rank to each other,
// beside the formulas of their algorithms; how much of it was hidden; and what diagnosis says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/stages.h"
#include "acceptance/stages/training_formula.h"
#include "acceptance/timeline_rows.h"
#include "acceptance/training_job.h"

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
  std::string worst_pair;
};

// Bytes by sender and receiver.
using Cells = std::map<std::pair<size_t, size_t>, double>;

// Of many ranks `heddle matrix` prints triples of row, column and value in place of all cells.
Cells cells_of(const Json& matrix, const std::string& name) {
  Cells cells;
  if (const auto rows = matrix.find(name); rows != matrix.end()) {
    for (size_t from = 0; from < rows->size(); ++from) {
      for (size_t to = 0; to < rows->at(from).size(); ++to) {
        cells[{from, to}] = rows->at(from).at(to).get<double>();
      }
    }
    return cells;
  }
  for (const Json& triple : matrix.at(name + "_triples")) {
    cells[{triple.at(0).get<size_t>(), triple.at(1).get<size_t>()}] = triple.at(2).get<double>();
  }
  return cells;
}

Difference difference_of(const Json& matrix) {
  Difference found;
  double all = 0;
  double apart = 0;
  double worst = 0;
  std::map<std::pair<size_t, size_t>, std::pair<double, double>> both;
  for (const auto& [pair, bytes] : cells_of(matrix, "measured")) both[pair].first = bytes;
  for (const auto& [pair, bytes] : cells_of(matrix, "expected")) both[pair].second = bytes;
  const Json& parties = matrix.at("parties");
  for (const auto& [pair, bytes] : both) {
    const double difference = std::abs(bytes.first - bytes.second);
    all += bytes.second;
    apart += difference;
    if (difference <= worst) continue;
    worst = difference;
    found.worst_pair = fmt::format("{} to {}", parties.at(pair.first).value("host", ""),
                                   parties.at(pair.second).value("host", ""));
  }
  found.share = all > 0 ? apart / all : 1;
  return found;
}

void judge_matrix(const CommandEnd& end, const std::string& name, StageReport& report) {
  const std::optional<Json> matrix = document_of(end);
  const std::string todo = "run `heddle matrix --expected` on the recording and compare by rank";
  if (!matrix || !(matrix->contains("expected") || matrix->contains("expected_triples"))) {
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
  if (!matrix->contains("expected")) return;
  if (matrix->at("expected").size() > params::kMostDrawnRanks) return;
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

// What the formula says of a recording; zeros of other jobs than the built-in one, of a fabric
// without rates, and where it cannot be calculated, of which the stage training fails.
IdealStep formula_of(Session& session, const Session::Recording& recording) {
  if (recording.name != kTrainingRecording) return {};
  const double bound = bus_bound(session, session.all_hosts());
  const TrainingJob job = training_job(session.hosts(), bound, session.options().depth);
  const Result<IdealStep> ideal = ideal_step(session, job, bound);
  return ideal ? *ideal : IdealStep{};
}

// How much of the communication ran beside computation, over all ranks. What is expected is no more
// than what the slowest step that the stage training passes hides: both judge the same steps.
void judge_overlap(Session& session, const CommandEnd& end, const Session::Recording& recording,
                   StageReport& report) {
  const std::optional<Json> summary = document_of(end);
  if (!summary) {
    report.rows.push_back({"overlap", recording.name, complaint_of(end), "a summary", Grade::kFail,
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
  const IdealStep ideal = formula_of(session, recording);
  if (session.interrupted()) return;
  const double formula = ideal.hidden_share();
  const double least = ideal.hidden_share_at(session.expectations().training_share);
  report.rows.push_back(hidden_row(recording.name, {hidden / all, formula, least},
                                   [&session](double reached, double wanted) {
                                     return session.grade_of_speed(reached, wanted);
                                   }));
  report.data["overlaps"].push_back({{"name", recording.name},
                                     {"exposed_share", exposed / all},
                                     {"hidden_share", hidden / all},
                                     {"formula_hidden_share", formula}});
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
  if (recording.overlaps) judge_overlap(session, *summary, recording, report);
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
