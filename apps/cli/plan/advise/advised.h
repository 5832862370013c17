// Candidates with what became of each: simulated, ranked, and tried for real.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/plan/advise/candidates.h"
#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/plan/advise/step_simulation.h"
#include "planner/advice.h"

namespace heddle::cli {

struct AdvisedChange {
  Candidate candidate;
  std::vector<double> step_s;  // by seed, over candidate.steps; empty: a closed form, or it failed
  double misfits = 0;          // the most of SimulatedStep's, over seeds
  planner::Gain gain;
  planner::NoAdvantage why = planner::NoAdvantage::kGains;
  std::string reason;                  // of no gain
  std::optional<planner::Gain> tried;  // with real packets
};

struct Advised {
  std::vector<AdvisedChange> changes;  // the best first
  std::vector<NotConsidered> left_out;
  std::vector<double> step_s;  // as it is, by seed
  planner::StepFacts facts;
  double computed_s = 0;
  uint64_t sent_bytes = 0;  // of the host that sends most in a step, by the algorithms
  double recorded_s = 0;    // the median
  double off_by = 0;
  double bound = 0;                 // of off_by, either way
  uint32_t rounds = 0;              // of real runs; 0: none
  std::vector<double> real_step_s;  // as it is, by round
  double slowed = 1;                // links and computation of the real runs, by this

  bool enough_evidence() const { return off_by <= bound && off_by >= -bound; }
};

struct AdviseQuestion {
  StepTransport transport;
  ModelQuestion model;
  uint32_t seeds = 5;
  double bound = 0.15;
  bool fabrics = false;     // also changes of the fabric
  bool every_seed = false;  // also for changes that cost
};

// Errors: those of the simulation, of the model; kCancelled.
Result<Advised> advise(const RecordedSetting& setting, const AdviseQuestion& question);

}  // namespace heddle::cli
