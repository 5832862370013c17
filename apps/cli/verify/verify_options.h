// Options of `heddle verify`, and the same in a report, for a test that goes on with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "acceptance/acceptance.h"
#include "apps/cli/json.h"
#include "base/result.h"

namespace heddle::cli {

struct VerifyOptions {
  std::string lab;
  std::string hosts;
  std::string via = "ssh";
  std::string topology;
  std::vector<std::string> stages;
  std::string coverage;  // empty: as the depth has it
  std::string expect;
  std::string report;
  std::string resume;
  std::string metrics;
  std::string sign;      // file of a private key
  std::string language;  // of a page beside report.html; empty: none
  acceptance::TrainingOptions training;
  bool quick = false;
  bool full = false;
  bool json = false;
  bool pdf = false;
};

std::vector<std::string> coverage_names();
std::optional<acceptance::Coverage> coverage_named(const std::string& name);

// What decides about a test, with files by their absolute paths.
Json asked_of(const VerifyOptions& options);
// The command line that goes on with a test of these options: with those that start programs, which
// are not taken from a folder.
std::vector<std::string> resume_words(const std::string& folder, const VerifyOptions& options);
// Sets the same of an earlier test, whose report is in `options.resume`. Errors: kInvalid for a
// report of a version without them; where `options` has other machines, another `via` or another
// Python than the report.
Result<void> read_asked(const Json& asked, VerifyOptions& options);

}  // namespace heddle::cli
