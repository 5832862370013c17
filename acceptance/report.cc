// See report.h.
#include "acceptance/report.h"

#include <algorithm>

namespace heddle::acceptance {
namespace {

template <typename Condition>
size_t count_if(const Report& report, const Condition& condition) {
  size_t count = 0;
  for (const StageReport& stage : report.stages) {
    count += static_cast<size_t>(std::count_if(stage.rows.begin(), stage.rows.end(), condition));
  }
  return count;
}

}  // namespace

const char* name_of(StageOutcome outcome) {
  switch (outcome) {
    case StageOutcome::kPassed:
      return "passed";
    case StageOutcome::kFailed:
      return "failed";
    case StageOutcome::kBroken:
      return "could not measure";
    case StageOutcome::kInterrupted:
      return "interrupted";
    case StageOutcome::kNotRun:
      break;
  }
  return "not run";
}

Grade grade_of(const StageReport& stage) {
  if (stage.outcome == StageOutcome::kBroken) return Grade::kFail;
  Grade worst = Grade::kOk;
  for (const Row& row : stage.rows) worst = std::max(worst, row.grade);
  return worst;
}

Grade grade_of(const Report& report) {
  Grade worst = Grade::kOk;
  for (const StageReport& stage : report.stages) worst = std::max(worst, grade_of(stage));
  return worst;
}

bool is_broken(const Report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(), [](const StageReport& stage) {
    return stage.outcome == StageOutcome::kBroken && stage.name != kRestStage;
  });
}

size_t count_rows(const Report& report, Grade grade) {
  return count_if(report,
                  [&](const Row& row) { return row.grade == grade && !is_information(row); });
}

size_t count_information(const Report& report) { return count_if(report, is_information); }

}  // namespace heddle::acceptance
