// Counts: what steering has decided since the watch began, as metrics. The monitor adds each
// decision as it is logged.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "metrics/exposition.h"
#include "steering/decision.h"
#include "steering/policy.h"

namespace heddle::steering {

class Counts {
 public:
  // Counters of all rules are there from the beginning, at zero.
  Counts(const Policy& policy, bool acts);

  void add(const Decision& decision);
  // `recording`: the label by which a monitor's metrics name their job.
  std::vector<metrics::Family> families(const std::string& recording) const;

 private:
  struct OfRule {
    std::string action;
    std::map<Outcome, uint64_t> actions;
    std::map<Outcome, uint64_t> undone;
    uint64_t refused_by_limits = 0;
    uint64_t confirmed = 0;
    uint64_t not_confirmed = 0;
    uint64_t not_tested = 0;
  };
  void add_test(OfRule& rule, const Decision& decision);

  bool acts_;
  std::map<std::string, OfRule> rules_;                    // by name
  std::set<std::pair<std::string, std::string>> testing_;  // rules and targets
};

}  // namespace heddle::steering
