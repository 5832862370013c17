// See findings.h.
#include "apps/cli/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

int count_of(const std::vector<Finding>& findings, Grade grade) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [grade](const Finding& each) { return each.grade == grade; }));
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& each : findings) {
    text +=
        fmt::format("{:<4}  {:<9}  {}\n", grade_name(each.grade), each.topic, printable(each.what));
    if (each.grade == Grade::kOk) continue;
    text += fmt::format("{:17}why: {}\n{:17}do:  {}\n", "", printable(each.why), "",
                        printable(each.todo));
  }
  return text + fmt::format("{} failed, {} warnings, {} ok\n", count_of(findings, Grade::kFail),
                            count_of(findings, Grade::kWarn), count_of(findings, Grade::kOk));
}

Json findings_document(const std::vector<Finding>& findings) {
  Json rows = Json::array();
  for (const Finding& each : findings) {
    const bool fine = each.grade == Grade::kOk;
    rows.push_back({{"grade", grade_name(each.grade)},
                    {"topic", each.topic},
                    {"what", each.what},
                    {"why", fine ? Json() : Json(each.why)},
                    {"todo", fine ? Json() : Json(each.todo)}});
  }
  return {{"heddle", kVersion},
          {"failed", count_of(findings, Grade::kFail)},
          {"warnings", count_of(findings, Grade::kWarn)},
          {"findings", rows}};
}

}  // namespace heddle::cli
