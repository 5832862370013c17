// Report diff: what changed between two reports of a fabric: verdicts, rows that became worse or
// better, facts of hosts, and figures. Reads report.json, as `heddle verify --report` writes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

enum class ChangeKind : uint8_t { kWorse, kBetter, kOther };

struct ReportChange {
  ChangeKind kind = ChangeKind::kOther;
  std::string stage;
  std::string what;   // "goodput", "MTU", "kernel"
  std::string where;  // "h0 to h2", "h3"
  std::string before;
  std::string after;
};

struct ReportDiff {
  std::string verdict_before;
  std::string verdict_after;
  std::vector<std::string> notes;     // why figures may not be comparable
  std::vector<ReportChange> changes;  // the worse ones first
  uint32_t figures = 0;               // that both reports have
};

// A figure changed if it is more than `tolerance` (0.1: a tenth) of the earlier one away from it.
// Errors: kInvalid for documents that are no whole reports.
Result<ReportDiff> compare_reports(const Json& before, const Json& after, double tolerance);

bool is_worse(const ReportDiff& diff);
std::string text_of(const ReportDiff& diff);
Json json_of(const ReportDiff& diff);

}  // namespace heddle::acceptance
