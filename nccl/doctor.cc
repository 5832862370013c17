// See doctor.h; the checks are in doctor/.
#include "nccl/doctor.h"

#include <algorithm>

#include "nccl/doctor/checks.h"

namespace heddle::nccl {

const char* grade_name(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "ok";
    case Grade::kWarn:
      return "warn";
    case Grade::kFail:
      break;
  }
  return "fail";
}

std::vector<Finding> examine(const HostFacts& facts) {
  std::vector<Finding> findings;
  doctor::check_plugin(facts, findings);
  doctor::check_libraries(facts, findings);
  doctor::check_settings(facts, findings);
  doctor::check_interfaces(facts, findings);
  doctor::check_host(facts, findings);
  doctor::check_options(facts, findings);
  doctor::ok(findings, "coverage",
             "heddle carries collectives and send/recv; one-sided and zero-SM traffic is not on "
             "heddle");
  return findings;
}

bool any_failed(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.grade == Grade::kFail; });
}

}  // namespace heddle::nccl
