// See thread_group.h.
#include "plugins/nccl/trace/thread_group.h"

#include <atomic>

namespace heddle::nccl::trace {
namespace {

thread_local bool ended = false;
constinit std::atomic<uint64_t> groups{0};

template <typename Kept>
bool keep_in(std::vector<Kept>& all, const Kept& one) {
  if (all.size() == ThreadGroup::kMost) return false;
  try {
    all.push_back(one);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

bool is_taken(Status status) { return status == kSuccess || status == kInProgress; }

ThreadGroup* ThreadGroup::of_this_thread() {
  if (ended) return nullptr;
  thread_local ThreadGroup group;
  return &group;
}

ThreadGroup::~ThreadGroup() { ended = true; }

void ThreadGroup::start() {
  if (depth_++ == 0) number_ = groups.fetch_add(1) + 1;
}

void ThreadGroup::end(Trace* trace, Status status, bool carried_out) {
  if (depth_ == 0 || --depth_ > 0) return;
  const bool ok = is_taken(status) && carried_out;
  if (trace != nullptr) {
    if (ok && !births_.empty()) trace->made(births_);
    for (const CallRecord& call : calls_) trace->end(call, ok);
  }
  calls_.clear();
  births_.clear();
}

bool ThreadGroup::keep(const CallRecord& call) { return depth_ > 0 && keep_in(calls_, call); }

bool ThreadGroup::keep(const Birth& birth) { return depth_ > 0 && keep_in(births_, birth); }

}  // namespace heddle::nccl::trace
