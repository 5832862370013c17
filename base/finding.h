// Finding: one line of what a doctor says of a machine. `heddle nccl doctor` and `heddle doctor
// rdma` print them alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

enum class Grade : uint8_t { kOk, kWarn, kFail };

inline const char* grade_name(Grade grade) {  // "ok", "warn", "fail"
  if (grade == Grade::kOk) return "ok";
  return grade == Grade::kWarn ? "warn" : "fail";
}

struct Finding {
  Grade grade = Grade::kOk;
  std::string topic;  // "interface", "mtu", ...: the same word for the same check
  std::string what;
  std::string why;   // kWarn, kFail: what it does to a job
  std::string todo;  // kWarn, kFail
};

// Whether any of them is kFail.
inline bool any_failed(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.grade == Grade::kFail; });
}

}  // namespace heddle
