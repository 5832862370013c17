// Steering: from the faults of a job to decisions by a policy. Without input or output: the caller
// passes each look, runs the commands of task() and passes their results, and keeps every decision.
//
//   look() ... task(): tested() or, without a test, at once asked() or, without a question,
//   start(); then ended(). Each returns a decision if the task ends there. drop() ends it at any
//   time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/background_command.h"
#include "monitor/alarms.h"
#include "steering/commands.h"
#include "steering/decision.h"
#include "steering/history.h"
#include "steering/policy.h"

namespace heddle::steering {

// The state of a job at one look.
struct Look {
  std::vector<monitor::Alarm> lasting;
  std::vector<std::string> hosts;  // of the job's processes
  Nanos now;                       // of this machine's steady clock
  int64_t at_ns = 0;               // since 1970
  int64_t began_ns = 0;            // the job, since 1970
};

struct JobName {
  std::string name;    // the recording's
  std::string folder;  // its whole path, without links
};

// An action that was decided and has not ended, or its undoing.
struct Task {
  size_t rule = 0;
  monitor::Alarm alarm;
  Decision base;                      // with all but outcome, time and reason
  std::vector<std::string> test;      // empty: none
  std::vector<std::string> question;  // empty: none
  std::vector<std::string> command;
  bool started = false;
  bool testing = false;                   // its test has begun and not ended
  std::optional<TestResult> test_result;  // that no decision has yet
};

class Steering {
 public:
  // `act`: false for a dry run, in which there are no tasks.
  Steering(Policy policy, JobName job, bool act);

  // A decision that another monitor, or an earlier one, has logged.
  void learn(const Decision& decision) { history_.add(decision); }

  // What is decided at once; a task may be there afterwards.
  std::vector<Decision> look(const Look& look);

  const Policy& policy() const { return policy_; }
  const std::optional<Task>& task() const { return task_; }
  // That the test begins, for the log.
  Decision testing(int64_t at_ns);
  std::optional<Decision> tested(const launch::CommandResult& result, int64_t at_ns);
  std::optional<Decision> asked(const launch::CommandResult& result, int64_t at_ns);
  // kStarted: the command is to be run now, if the decision can be logged. Else the task has ended.
  Decision start(int64_t at_ns);
  Decision ended(const launch::CommandResult& result, int64_t at_ns);
  // A test that runs counts as kNotTested, unless the action is refused before it could.
  Decision drop(Outcome outcome, std::string why, int64_t at_ns);

 private:
  // A rule's dealing with an alarm.
  struct Case {
    bool settled = false;
    int64_t wait_until_ns = 0;  // since 1970
    std::string refusal;        // that was logged
  };
  using CaseKey = std::pair<uint64_t, size_t>;                           // alarm, rule
  using RefusalKey = std::tuple<std::string, std::string, std::string>;  // rule, target, reason
  // What is in effect at a target, and for which alarms.
  struct Hold {
    std::set<uint64_t> owners;
    size_t rule = 0;
    monitor::Alarm alarm;  // the first one
    Decision base;
    PlaceHosts hosts;
    int64_t wait_until_ns = 0;  // until it may be undone
    Nanos seen;                 // the first alarm
  };

  std::optional<size_t> rule_for(const monitor::Alarm& alarm, const Look& look) const;
  void see(const Look& look);
  void release();
  void undo(const Look& look, std::vector<Decision>& decisions);
  std::optional<Decision> consider(const monitor::Alarm& alarm, size_t rule, const Look& look);
  std::optional<Decision> refuse(Case& dealt, Decision base, Outcome outcome, std::string why);
  PlaceHosts hosts_of(const monitor::Alarm& alarm, const Look& look) const;
  std::string host_name(const std::string& recorded) const;
  Decision base_of(const monitor::Alarm& alarm, size_t rule, const Look& look) const;
  Decision made(Outcome outcome, std::string why, int64_t at_ns) const;
  std::string job_id(const Look& look) const;
  int64_t lasted_ns(const monitor::Alarm& alarm, const Look& look) const;
  Decision end_task(Outcome outcome, std::string why, int64_t at_ns, bool objected = false);
  void hold(const Decision& base, const monitor::Alarm& alarm, size_t rule,
            const PlaceHosts& hosts);

  Policy policy_;
  JobName job_;
  bool act_;
  History history_;
  std::map<CaseKey, Case> cases_;
  std::map<RefusalKey, int64_t> refusals_;                     // when each was logged
  std::map<std::pair<std::string, std::string>, Hold> holds_;  // by target and effect
  std::map<uint64_t, Nanos> lasting_;  // alarms of the last look, and when each was first seen
  std::optional<Task> task_;
  PlaceHosts task_hosts_;
};

}  // namespace heddle::steering
