// KeptChanges: lines that say what has changed, applied to a plan that is kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/plan/plan_inputs.h"
#include "base/result.h"
#include "planner/live_plan.h"

namespace heddle::cli {

class KeptChanges {
 public:
  // Plans first. `read` must outlive it. Errors: those of the planner.
  static Result<std::unique_ptr<KeptChanges>> make(const ReadPlanInputs& read);

  // "down LINK", "up LINK", "rate LINK RATE", "flow HOST HOST BYTES" or "end HOST HOST". Errors:
  // kInvalid, and nothing has changed.
  Result<planner::Replanned> apply(const std::string& line);

  const planner::LivePlan& plan() const { return *plan_; }
  // The plan file's document: without what is known of a plan of all flows alone.
  std::string document() const;

 private:
  using Pair = std::pair<uint32_t, uint32_t>;

  KeptChanges(const ReadPlanInputs& read, std::unique_ptr<planner::LivePlan> plan);
  Result<planner::Replanned> change_link(const std::vector<std::string>& words);
  Result<planner::Replanned> change_flow(const std::vector<std::string>& words);

  const ReadPlanInputs& read_;
  std::unique_ptr<planner::LivePlan> plan_;
  std::map<Pair, uint32_t> flows_;  // by sender and receiver, which are hosts
  std::vector<uint32_t> failed_;    // cables
};

}  // namespace heddle::cli
