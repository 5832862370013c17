// Plan of a sweep: every run of it, by what it is given and by a key that says whether it has been
// done already.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/sim/sweep/variations.h"
#include "base/result.h"

namespace heddle::cli {

struct SweepRun {
  Choice choice;
  std::vector<std::string> words;  // of heddle's command line
  std::string made_by;             // behaviour_text() of this heddle
  // A hash of that, of all options and of what the two files hold; a run with an equal one is the
  // same run.
  std::string key;
  // The two files and the hashes of what they held when it was planned.
  std::vector<std::pair<std::string, uint64_t>> files;

  // Whether they hold that still.
  bool files_are_the_same() const;
};

struct SweepInput {
  std::string topology;  // files; empty where they are varied
  std::string workload;
  std::vector<Variation> variations;
  std::vector<std::string> others;  // words for each run: options of `heddle sim`
};

// Errors: kInvalid (options that make no sense together), kUnavailable (a file cannot be read).
Result<std::vector<SweepRun>> plan_sweep(const SweepInput& input);

// What is kept of a run: its line of results, from what it wrote; nothing where that is none.
std::optional<nlohmann::json> row_of(const SweepRun& run, const std::string& output,
                                     int exit_status);

}  // namespace heddle::cli
