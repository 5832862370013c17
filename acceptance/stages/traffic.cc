// Stage traffic: how much each rank sent to each other in the recorded all-reduces, beside the
// formulas of their algorithms, and the diagnosis of the same recording.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "acceptance/params.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/stages.h"

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

void judge_matrix(const CommandEnd& end, StageReport& report) {
  const std::optional<Json> matrix = document_of(end);
  const std::string todo = "run `heddle matrix --expected` on the recording and compare by rank";
  if (!matrix || !matrix->contains("expected")) {
    report.rows.push_back(
        {"matrix", "all-reduces", complaint_of(end), "a matrix", Grade::kFail, todo});
    return;
  }
  const Difference found = difference_of(*matrix);
  const bool fine = found.share <= params::kMatrixShare;
  report.rows.push_back(
      {"matrix", fine ? fmt::format("{} ranks", matrix->value("ranks", 0)) : found.worst_pair,
       fmt::format("{:.4g} MB delivered, {:.2g}% other than the formulas say",
                   matrix->at("totals").value("measured", 0.0) / 1e6, found.share * 100),
       fmt::format("at most {:g}%", params::kMatrixShare * 100), fine ? Grade::kOk : Grade::kFail,
       fine ? "" : todo});
  report.data["matrix"] = {{"parties", matrix->at("parties")},
                           {"measured", matrix->at("measured")},
                           {"expected", matrix->at("expected")}};
}

// Hangs and mismatches are wrong anywhere; a slow rank of a disturbed machine is not the fabric's.
Grade grade_of_verdict(const Json& verdict, bool disturbed) {
  const std::string name = verdict.value("class", "");
  const bool speed = name.find("slow") != std::string::npos || name == "degradation";
  return speed && disturbed ? Grade::kWarn : Grade::kFail;
}

void judge_diagnosis(const CommandEnd& end, bool disturbed, StageReport& report) {
  const std::optional<Json> document = document_of(end);
  if (!document) {
    report.rows.push_back({"diagnosis", "all-reduces", complaint_of(end), "a diagnosis",
                           Grade::kFail, "run `heddle diagnose` on the recording"});
    return;
  }
  const Json verdicts = document->value("verdicts", Json::array());
  for (const Json& verdict : verdicts) {
    report.rows.push_back({"diagnosis", verdict.value("place_text", "all-reduces"),
                           verdict.value("summary", ""), "no verdict",
                           grade_of_verdict(verdict, disturbed),
                           verdict.value("try", "run `heddle diagnose` on the recording")});
  }
  report.data["diagnosis"] = *document;
  if (!verdicts.empty()) return;
  const bool enough = document->value("enough_evidence", false);
  report.rows.push_back(
      {"diagnosis", fmt::format("{} operations", document->value("operations", 0)),
       enough ? "nothing hangs or is slow" : "too few operations to judge", "no verdict"});
}

}  // namespace

Result<void> run_traffic(Session& session, StageReport& report) {
  if (session.recording.empty()) {
    Result<BenchResult> bench = run_recorded_all_reduce(session);
    if (!bench) return fail(std::move(bench).error());
    if (session.interrupted()) return {};
    if (bench->sizes.empty()) {
      report.rows.push_back({"matrix", "all-reduces", bench->complaint, "a recording", Grade::kFail,
                             "see the stage collectives"});
      return {};
    }
    session.recording = bench->recording;
    session.recording_disturbed = session.disturbed();
  }
  const auto matrix =
      run_here(session, {"heddle", "matrix", session.recording, "--expected", "--json"});
  if (!matrix) return fail(matrix.error());
  if (session.interrupted()) return {};
  const auto diagnosis = run_here(session, {"heddle", "diagnose", session.recording, "--json"});
  if (!diagnosis) return fail(diagnosis.error());
  if (session.interrupted()) return {};
  judge_matrix(*matrix, report);
  judge_diagnosis(*diagnosis, session.recording_disturbed, report);
  return {};
}

}  // namespace heddle::acceptance
