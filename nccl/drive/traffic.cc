// Traffic: see traffic.h.
#include "nccl/drive/traffic.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "nccl/drive/clock.h"
#include "nccl/drive/plugin_log.h"

namespace heddle::nccl {

Traffic::Traffic(const StreamSetting& setting, std::vector<OpenComm>& sends,
                 std::vector<OpenComm>& receives, Nanos patience)
    : patience_(patience) {
  for (OpenComm& each : receives) receives_.emplace_back(setting, each);
  for (OpenComm& each : sends) sends_.emplace_back(setting, each, receives_);
}

Result<void> Traffic::run(uint64_t iterations) {
  for (ReceiveStream& each : receives_) each.add_iterations(iterations);
  for (SendStream& each : sends_) each.add_iterations(iterations);
  Nanos moved_at = monotonic_now();
  while (!finished()) {
    const Nanos now = monotonic_now();
    const Result<bool> moved = turn();
    if (!moved) return fail(moved.error());
    if (*moved) {
      moved_at = now;
      continue;
    }
    if (cancelled_.load(std::memory_order_relaxed)) {
      return fail(ErrorCode::kCancelled, "the traffic", "it was stopped");
    }
    if (now - moved_at > patience_) {
      return fail(ErrorCode::kTimeout, "the traffic",
                  fmt::format("no message completed for {:.0f} s", to_seconds(patience_)),
                  plugin_log_hint());
    }
    sched_yield();  // as NCCL's progress thread does when nothing moved
  }
  return {};
}

Result<bool> Traffic::turn() {
  bool moved = false;
  for (ReceiveStream& each : receives_) {
    const Result<bool> turned = each.turn();
    if (!turned) return turned;
    moved = moved || *turned;
  }
  for (SendStream& each : sends_) {
    const Result<bool> turned = each.turn();
    if (!turned) return turned;
    moved = moved || *turned;
  }
  return moved;
}

bool Traffic::finished() const {
  const auto is_finished = [](const auto& each) { return each.finished(); };
  return std::all_of(sends_.begin(), sends_.end(), is_finished) &&
         std::all_of(receives_.begin(), receives_.end(), is_finished);
}

}  // namespace heddle::nccl
