// RunningRanks: the processes of a run from their start to the end of the last one. It ends the
// others when one fails; in an elastic run, when too few are left. Where the run has a maximum, it
// starts newcomers in the place of those that were lost, and as many as the user asks for. It runs
// in a process of its own, which is the subreaper of all that the ranks start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "launch/plan.h"
#include "launch/ranks/member_files.h"
#include "launch/ranks/rank_process.h"
#include "launch/ranks/roster.h"
#include "launch/ranks/run_key.h"
#include "launch/ranks/run_signals.h"
#include "launch/run_control.h"
#include "launch/supervisor.h"

namespace heddle::launch {

class RunningRanks {
 public:
  RunningRanks(const RunPlan& plan, RunIdentity identity, RunReporter reporter);

  // Returns the exit status, once nothing of the run is left.
  int run();

 private:
  // --- start ---
  bool prepare();
  bool start_all();
  bool start(RankRole role);

  // --- what happens ---
  bool any_running() const;
  void wait();
  int timeout_ms() const;
  void take_signals();
  void take_ended();
  void handle_end(const RankProcess& rank);
  void handle_loss(const RankProcess& rank);

  // --- how many there are ---
  void change_number();
  void take_in_newcomers();
  void start_newcomer();
  void release(uint32_t number);
  void end_released(uint32_t number);
  bool may_release(uint32_t number) const;
  Result<RunState> answer(uint32_t wanted);

  // --- the end ---
  void end_after(const RankProcess& rank);
  void end_newcomers();
  void kill_the_rest();
  void kill_the_released();
  std::string name_of(const RankProcess& rank) const;

  const RunPlan& plan_;
  RunIdentity identity_;
  const RunReporter reporter_;
  std::optional<RunKey> key_;
  RunSignals signals_;
  RunControl control_;
  MemberFiles files_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;  // by number
  Roster roster_;
  bool killed_ = false;
  int start_failure_;          // the exit status for it
  std::optional<int> status_;  // decided: the run ends with it
  std::optional<Nanos> kill_at_;
  Nanos changed_at_;     // when a member came or went, or a process was asked to end
  Nanos read_files_at_;  // the next time
  // One that was asked to end and has not.
  struct Released {
    uint32_t number = 0;
    Nanos kill_at;
  };
  std::vector<Released> released_;
};

// Ends every process that this one, or its subreaper's children, have started.
void end_descendants();

}  // namespace heddle::launch
