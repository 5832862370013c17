// SteeredJob: a policy's decisions about a WatchedJob, made by steering/ in the job's own time. The
// active tests are simulated, a scheduler allows each action, and each action succeeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"
#include "bench/diagnosis/simulated_probe.h"
#include "bench/diagnosis/watched_job.h"
#include "steering/steering.h"

namespace heddle::bench {

struct SteeredAction {
  std::string rule;
  std::string target;
  bool right = false;     // its host, or its link, has the fault
  double at_s = 0;        // since the job's beginning
  double after_s = 0;     // since the fault's onset, which may be later
  bool invented = false;  // for a false verdict that was added
};

struct SteeredOutcome {
  std::vector<SteeredAction> actions;  // in order
  uint64_t tests = 0;
  uint64_t confirmed = 0;
  uint64_t not_confirmed = 0;
  uint64_t not_tested = 0;
  uint64_t refused = 0;  // by limits, hosts or a lack of a peer
};

struct SteeredOptions {
  steering::Policy policy;
  bool each_verdict = false;  // acts on verdicts of one look, and not on alarms
  TestOptions test;
};

class SteeredJob {
 public:
  // All outlive it.
  SteeredJob(const FaultCase& job, const ObservedJob& observed, const WatchedJob& watched,
             const SteeredOptions& options);
  SteeredOutcome run();

 private:
  enum class Stage : uint8_t { kNone, kTest, kQuestion };

  void look(const WatchedLook& look, int64_t at_ns);
  void advance(int64_t until_ns);
  void begin(int64_t at_ns);
  void start(int64_t at_ns);
  void count(const steering::Decision& decision);
  bool is_right(const steering::Task& task) const;

  const FaultCase& job_;
  const ObservedJob& observed_;
  const WatchedJob& watched_;
  const SteeredOptions& options_;
  std::vector<std::string> hosts_;
  steering::Steering steering_;
  SimulatedProbe test_;
  Stage stage_ = Stage::kNone;
  int64_t ends_ns_ = 0;  // the stage
  launch::CommandResult result_;
  SteeredOutcome outcome_;
};

// The policy's job goes on for this long after its onset, so that rules have the time to act.
FaultCase lengthened(FaultCase job, double after_s);

}  // namespace heddle::bench
