// History: actions that were taken, by this monitor and by those before and beside it, and what the
// limits allow now. A pure function of the audit log's lines and the time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "steering/decision.h"
#include "steering/policy.h"

namespace heddle::steering {

class History {
 public:
  explicit History(const Limits& limits) : limits_(limits) {}

  // Older decisions change nothing.
  static Nanos horizon(const Limits& limits);
  void add(const Decision& decision);
  struct DoneFor {
    std::string job;
    bool own = false;  // it is the decision's job
  };
  // The job for which the same action was done at the target in the last `host_pause`, if it was
  // not undone.
  std::optional<DoneFor> done_for(const Decision& decision) const;
  // Why the limits do not allow the action at its time; empty: they do. Dry runs are limited by dry
  // runs, others by others.
  std::string refuse(const Decision& decision) const;

 private:
  enum class State : uint8_t { kStarted, kDone, kFailed, kUndone };
  struct Entry {
    int64_t at_ns = 0;
    std::string job;
    std::string job_id;
    std::string target;
    std::string effect;
    bool dry = false;
    State state = State::kStarted;
  };
  static bool is_same(const Entry& entry, const Decision& decision);
  // The newest one of the decision's action, not older than `within`; nullptr: none.
  const Entry* newest(const Decision& decision, Nanos within) const;

  Limits limits_;
  std::vector<Entry> entries_;  // in the order in which they were added
};

}  // namespace heddle::steering
