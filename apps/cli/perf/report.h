// Report: the results of `heddle perf` as text for people and as JSON for programs. Pure functions.
#pragma once

#include <span>
#include <string>

#include "apps/cli/json.h"
#include "measure/measurement.h"

namespace heddle::cli {

// What is the same for all tests of a run.
struct PerfSetting {
  std::string peer;
  uint32_t paths = 0;
  uint32_t paths_asked = 0;  // more than `paths` where the other side allows fewer
  std::string congestion;
  std::optional<transport::Protection> protection;  // with cluster keys
};

std::string setting_text(const PerfSetting& setting);

// One test, a value a line.
std::string measurement_text(const measure::Measurement& measurement);

// Of a sweep over sizes: the head of a test's table, and a row.
std::string sweep_head(const std::string& test);
std::string sweep_row(const measure::Measurement& measurement);

// Nothing for tests that found nothing wrong.
std::string wrong_text(const measure::Measurement& measurement);

Json measurement_json(const measure::Measurement& measurement);
// `error` may be null.
Json perf_document(const PerfSetting& setting, std::span<const measure::Measurement> measurements,
                   bool stopped, const Error* error);

}  // namespace heddle::cli
