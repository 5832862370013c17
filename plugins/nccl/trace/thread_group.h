// ThreadGroup: the calls that a thread has made since ncclGroupStart(). NCCL carries them out when
// the outermost group ends; then it is known whether they succeeded, and communicators have
// handles.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/types.h"
#include "plugins/nccl/trace/params.h"
#include "plugins/nccl/trace/trace.h"

namespace heddle::nccl::trace {

class ThreadGroup {
 public:
  static constexpr size_t kMost = params::kMostCallsOfGroup;  // and communicators

  // This thread's; null when the thread ends.
  static ThreadGroup* of_this_thread();

  ThreadGroup() = default;
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  void start();
  // NCCL's answer for the group; `carried_out` is false for a simulation. Reports to `trace`, if
  // any, once the outermost group has ended.
  void end(Trace* trace, Status status, bool carried_out);

  // A number of the process for the group that is open; 0: none is.
  uint64_t number() const { return depth_ == 0 ? 0 : number_; }
  // Keep it until the group ends. False: no group is open, or it has kMost already.
  bool keep(const CallRecord& call);
  bool keep(const Birth& birth);

 private:
  uint32_t depth_ = 0;
  uint64_t number_ = 0;
  std::vector<CallRecord> calls_;
  std::vector<Birth> births_;
};

// Whether NCCL has taken a call: it succeeded, or goes on without blocking.
bool is_taken(Status status);

}  // namespace heddle::nccl::trace
