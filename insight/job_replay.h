// JobReplay: a recorded job as a job of a workload: each rank's calls in their order with what was
// computed between them, and its waits. Made in one pass over each process's events, whose times
// need not agree with another's. A pure function of events.
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

struct JobReplay {
  topology::Job job;
  std::vector<std::string> hosts;  // where each rank was, as far as it is known
  std::vector<std::string> notes;  // what of the recording is not in it, or not as it was
};

class JobReplayBuilder {
 public:
  // Returns the number by which add() knows it.
  uint32_t add_process(const Identity& identity);
  void add(uint32_t process, const events::AnyEvent& event);
  // Errors: kInvalid where there is nothing to make a job of, kUnavailable where ranks that took
  // part were not recorded.
  Result<JobReplay> finish() const;

 private:
  friend class ReplayWriter;

  struct RecordedCall {
    events::CallMade made;
    bool started = false;
    events::Algorithm algorithm = events::Algorithm::kRing;
    uint32_t chunk_bytes = 0;
  };
  enum class MomentKind : uint8_t { kCall, kEnded, kWait, kWaited };
  struct Moment {
    MomentKind kind = MomentKind::kCall;
    Nanos at;
    uint64_t communicator = 0;
    uint32_t call = 0;  // or the group that is waited for
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

  std::vector<Process> processes_;
};

// The job with other ranks: `ranks` of them, which do what those of the recording do in turn. Sizes
// of calls stay, and algorithms are chosen anew. Errors: kInvalid where the job has more than one
// communicator, or messages between two ranks.
Result<JobReplay> with_ranks(const JobReplay& replay, uint32_t ranks);

}  // namespace heddle::insight
