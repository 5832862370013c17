// Alarms: the verdicts of one look after the other as faults that begin and end, so that each is
// reported once. A pure function of the looks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "insight/diagnosis.h"

namespace heddle::monitor {

struct Alarm {
  uint64_t number = 0;  // from 1
  insight::Verdict verdict;
  std::string place;               // place_text()
  std::vector<std::string> ranks;  // names of the place's processes
  std::vector<std::string> hosts;  // of each of them
  int64_t raised_ns = 0;           // since the job's beginning
  int64_t cleared_ns = -1;         // -1: it lasts
};

struct AlarmChange {
  bool raised = true;  // false: it is over
  Alarm alarm;
};

struct Sight {
  const insight::Diagnosis* diagnosis = nullptr;
  bool fresh = true;  // false: an earlier look's, which confirms nothing again
  int weight = 1;     // looks that it counts as
};

class Alarms {
 public:
  // Takes what a look found at `now_ns`, and returns what has changed.
  std::vector<AlarmChange> look(const std::vector<Sight>& sights, int64_t now_ns);

  // Those that last, in the order in which they were raised.
  std::vector<Alarm> lasting() const;
  // Those that are over, the newest last.
  const std::deque<Alarm>& past() const { return past_; }
  uint64_t raised() const { return raised_; }  // so far

 private:
  struct Candidate {
    Alarm alarm;
    int seen = 0;    // looks in a row, by weight
    int unseen = 0;  // looks in a row
    bool raised = false;
  };
  static bool is_same(const Alarm& one, const Alarm& other);
  void see(const Sight& sight, const insight::Verdict& verdict, std::vector<bool>& seen);

  std::vector<Candidate> candidates_;
  std::deque<Alarm> past_;
  uint64_t raised_ = 0;
};

}  // namespace heddle::monitor
