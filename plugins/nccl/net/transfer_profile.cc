// Reports of transfers to NCCL's profiler: see transfer_profile.h.
#include "plugins/nccl/net/transfer_profile.h"

#include <atomic>
#include <optional>

#include "plugins/nccl/net/link.h"
#include "plugins/nccl/profiler/net_events.h"

namespace heddle::nccl {
namespace {

// NCCL has one callback for all communicators.
std::atomic<ProfilerCallback>& profiler_callback() {
  static constinit std::atomic<ProfilerCallback> callback = nullptr;
  return callback;
}

void report(void** event, NetEvent type, void* parent, NetTransfer& transfer) {
  const ProfilerCallback callback = profiler_callback().load(std::memory_order_acquire);
  if (callback == nullptr) return;
  // What the profiler answers is no matter of the transfer.
  static_cast<void>(callback(event, type, parent, kNetEventsId, &transfer));
}

}  // namespace

void set_profiler_callback(ProfilerCallback callback) {
  if (callback != nullptr) profiler_callback().store(callback, std::memory_order_release);
}

void TransferProfile::begin(void* parent, const Link& link, uint64_t bytes) {
  if (parent == nullptr) return;
  parent_ = parent;
  event_ = nullptr;
  NetTransfer transfer = {.connection = link.connection(), .bytes = bytes};
  report(&event_, kNetEventStart, parent_, transfer);
  if (event_ == nullptr) return;
  const auto statistics = link.endpoint().statistics(link.connection());
  if (statistics) repeated_before_ = statistics->payload_bytes_retransmitted;
}

void TransferProfile::end(const Link& link, uint64_t bytes) {
  if (event_ == nullptr) return;
  NetTransfer transfer = {.connection = link.connection(), .bytes = bytes};
  if (const auto statistics = link.endpoint().statistics(link.connection())) {
    transfer.retransmitted_bytes = statistics->payload_bytes_retransmitted - repeated_before_;
    transfer.delay_ns = statistics->smoothed_rtt.count;
    if (statistics->paths == 1) transfer.path = 0;
  }
  report(&event_, kNetEventUpdateAndStop, parent_, transfer);
  event_ = nullptr;
}

}  // namespace heddle::nccl
