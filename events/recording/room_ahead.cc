// See room_ahead.h.
#include "events/recording/room_ahead.h"

#include <algorithm>
#include <utility>

#include "events/params.h"

namespace heddle::events::recording {

RoomAhead::RoomAhead(uint32_t blocks, std::function<bool(uint32_t first, uint32_t count)> ready)
    : blocks_(blocks),
      ahead_(std::min(blocks, params::writing::kBlocksAhead)),
      ready_(std::move(ready)) {
  Result<Thread> thread = start_thread("heddle-room", [this] { run(); });
  if (thread) thread_ = std::move(*thread);
  ends_ = !thread;  // without a thread, writers allocate space themselves
}

RoomAhead::~RoomAhead() {
  if (!thread_.joinable()) return;
  if (fork_guard_.in_child()) {
    thread_.detach();
    return;
  }
  ends_ = true;
  ++calls_;
  calls_.notify_one();
  thread_.join();
}

void RoomAhead::reached(uint64_t sequence) {
  uint64_t before = reached_.load(std::memory_order_relaxed);
  while (before <= sequence && !reached_.compare_exchange_weak(before, sequence + 1)) {
  }
  if (ready_until_.load(std::memory_order_relaxed) > sequence + ahead_ / 2) return;
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_one();
}

void RoomAhead::run() {
  uint64_t until = 0;
  while (!ends_) {
    const uint32_t heard = calls_.load(std::memory_order_acquire);
    // Blocks that writers have reached meanwhile are prepared by the writers.
    until = std::max(until, reached_.load());
    const uint64_t wanted = reached_.load() + ahead_;
    if (until >= wanted) {
      calls_.wait(heard, std::memory_order_acquire);
      continue;
    }
    const auto first = static_cast<uint32_t>(until % blocks_);
    const auto count = static_cast<uint32_t>(
        std::min<uint64_t>({params::writing::kBlocksTogether, wanted - until, blocks_ - first}));
    if (!ready_(first, count)) return;
    until += count;
    ready_until_.store(until, std::memory_order_relaxed);
  }
}

}  // namespace heddle::events::recording
