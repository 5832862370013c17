// JobReplay: converts a recorded job to a job of a workload: the calls of each rank in order, the
// computation between them, and its waits. One pass over each process's events; clocks of different
// processes need not agree. A pure function of events.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "events/events.h"
#include "insight/party.h"
#include "topology/job.h"

namespace heddle::insight {

// When a rank came to each action of its program, by its own clock, and where it marked the
// beginning of a step.
struct RecordedTimes {
  struct Step {
    size_t action = 0;  // the first of the step
    Nanos at;
    Nanos before;  // of a computation that is that action: what belongs to the step before
  };
  std::vector<Nanos> at;  // by action; of a computation: its end
  std::vector<Step> steps;
  Nanos ended;  // the last of its calls and waits
};

struct JobReplay {
  topology::Job job;
  std::vector<RecordedTimes> times;  // by rank
  std::vector<std::string> hosts;    // the host of each rank, where known
  std::vector<std::string> notes;    // parts of the recording that were left out or changed
};

class JobReplayBuilder {
 public:
  // Returns the process number that add() takes.
  uint32_t add_process(const Identity& identity);
  void add(uint32_t process, const events::AnyEvent& event);
  // Errors: kInvalid where the recording has no job to convert, kUnavailable where participating
  // ranks were not recorded.
  Result<JobReplay> finish() const;

 private:
  friend class ReplayWriter;

  struct RecordedCall {
    events::CallMade made;
    bool started = false;
    events::Algorithm algorithm = events::Algorithm::kRing;
    uint32_t chunk_bytes = 0;
    uint32_t group_ranks = 0;
  };
  enum class MomentKind : uint8_t { kCall, kEnded, kWait, kWaited, kStep };
  struct Moment {
    MomentKind kind = MomentKind::kCall;
    Nanos at;
    uint64_t communicator = 0;
    uint32_t call = 0;  // or the group of the wait
  };
  struct Membership {
    uint32_t rank = 0;
    uint32_t size = 0;
  };
  struct Process {
    Party party;
    std::map<uint64_t, Membership> communicators;
    std::map<std::pair<uint64_t, uint32_t>, RecordedCall> calls;
    std::vector<Moment> moments;
  };

  template <typename Event>
  void on(Process& /*process*/, const Event& /*event*/) {}
  void on(Process& process, const events::CommunicatorMade& event);
  void on(Process& process, const events::CallMade& event);
  void on(Process& process, const events::CallStarted& event);
  void on(Process& process, const events::CallEnded& event);
  void on(Process& process, const events::WaitBegun& event);
  void on(Process& process, const events::WaitEnded& event);
  void on(Process& process, const events::Mark& event);

  std::vector<Process> processes_;
};

// Returns the job with `ranks` ranks, which run the recorded ranks' programs in rotation. Sizes of
// calls stay the same, algorithms are selected anew. Errors: kInvalid where the job has more than
// one communicator, or messages between two ranks.
Result<JobReplay> with_ranks(const JobReplay& replay, uint32_t ranks);

}  // namespace heddle::insight
