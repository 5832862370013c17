// The changes of a recorded job that `heddle plan advise` considers, each with what to do for it,
// and those that it does not consider, each with the reason.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/plan/advise/step_simulation.h"
#include "base/result.h"
#include "planner/advice.h"
#include "topology/job.h"

namespace heddle::cli {

struct Candidate {
  planner::ChangeKind kind = planner::ChangeKind::kRankOrder;
  std::string name;  // "order of ranks by leaf"
  std::string todo;  // the setting, command or change of code
  std::string note;  // what else it changes; may be empty
  std::function<topology::Job(const topology::Job&)> change;  // empty: not to be simulated
  double steps = 1;               // of the job before that a step of the changed one is
  std::optional<uint16_t> paths;  // of a connection; nothing: as before
  bool planned = false;           // payload follows a plan of the changed job's
  // The fabric that it runs on; empty: as before.
  std::function<topology::Topology(const topology::Topology&)> fabric = {};
  bool roce = false;                    // over RoCE NICs in place of heddle's transport
  std::optional<planner::Gain> closed;  // by a closed form, where it is not simulated
};

struct NotConsidered {
  planner::ChangeKind kind = planner::ChangeKind::kRankOrder;
  std::string why;
};

// What a step sends over the fabric, in closed form: bytes of links over their rates.
struct StepTraffic {
  planner::Demand demand;
  planner::LongestTimes longest;  // with the paths that the job has, ns
  planner::LongestTimes planned;  // with a plan of paths
  planner::NoGain no_gain = planner::NoGain::kGains;
  bool hashes = true;  // false: the switches spray or route adaptively, so no plan is possible
};
StepTraffic traffic_of(const RecordedSetting& setting, const StepTransport& transport);

struct ModelQuestion {
  std::string model;  // empty: not known
  std::string gpu = "h100";
  uint64_t tensor = 1;  // of the job as it is
  uint64_t pipeline = 1;
};

struct Candidates {
  std::vector<Candidate> considered;
  std::vector<NotConsidered> left_out;
};

// Links of a higher rate, and other fabrics: what no setting changes. `crosses`: some of the
// traffic passes links between switches.
std::vector<Candidate> fabric_candidates(const RecordedSetting& setting, bool crosses);

// Errors: those of the model.
Result<Candidates> candidates_of(const RecordedSetting& setting, const StepTraffic& traffic,
                                 const StepTransport& transport, const ModelQuestion& model);

}  // namespace heddle::cli
