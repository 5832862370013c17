// Sheet: whether to change the network of a recorded job. What each measure gains, what it costs a
// host's CPU, which one to try first, and the stages of that trial with what undoes each. `heddle
// size report` prints it on one page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/plan/advise/advised.h"
#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/size/params.h"
#include "planner/advice.h"
#include "planner/decision.h"

namespace heddle::cli {

struct SheetQuestion {
  AdviseQuestion advice;     // with fabrics
  double least_gain = 0.02;  // what is worth a trial, a share of a step
  double cpu_s_per_gbyte =
      params::size::kCpuPerGbyte_s;  // of heddle's transport, both ends together
  std::string recordings;            // their paths, as words of a command
  std::string fabric;                // --topology or --rate, as words of a command
  std::string advice_words;          // the options of heddle plan advise for the same analysis
};

// A measure by its best change.
struct SheetRow {
  std::string measure;  // "number of paths"
  std::string change;   // "64 paths of a connection instead of 16"; empty: none was simulated
  planner::ChangeKind kind = planner::ChangeKind::kPaths;
  std::string todo;
  std::string undo;
  planner::Gain gain;
  bool in_use = false;  // the job has it: the gain is what it would lose without
  planner::NoAdvantage why = planner::NoAdvantage::kGains;
  std::string reason;     // of no gain, or of no change
  double host_cores = 0;  // of a host's transport, on average over a step
};

struct TrialStage {
  std::string name;
  std::string todo;
  std::string proceed;  // what must be seen for the next stage
  std::string undo;     // and what to do where it is not
};

struct Sheet {
  std::string recording;  // paths, as words of a command
  std::string setting;    // fabric and transport, as words of a command
  size_t ranks = 0;
  size_t steps = 0;
  double step_s = 0;      // recorded, the median
  double variation = 0;   // of recorded steps: deviation over mean
  planner::Gain waiting;  // share of a recorded step in which the average rank did not compute
  double sent_bytes = 0;  // of the busiest host in a step
  double host_cores = 0;  // as it is
  double off_by = 0;      // the simulated step from the recorded one
  double bound = 0;
  double least_gain = 0;
  double cpu_s_per_gbyte = 0;
  uint32_t seeds = 0;
  bool fabric_known = true;
  planner::Verdict verdict = planner::Verdict::kNoEvidence;
  size_t first = 0;  // row to try first, where the verdict is kGo
  std::string conclusion;
  std::string beside;  // what hardware would gain in its place; may be empty
  std::vector<SheetRow> rows;
  std::vector<TrialStage> stages;
  std::vector<std::string> notes;
};

Sheet sheet_of(const RecordedSetting& setting, const Advised& advised,
               const SheetQuestion& question);

}  // namespace heddle::cli
