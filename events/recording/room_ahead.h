// RoomAhead: a thread that prepares the next blocks of a recording. Allocating disk space and first
// touches of pages cost tens of microseconds, which would otherwise delay the recorded program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/fork_guard.h"
#include "base/thread.h"

namespace heddle::events::recording {

class RoomAhead {
 public:
  // Blocks are used in a cycle. The thread calls `ready(first, count)` to prepare consecutive
  // blocks; false: the disk is full, and it is not called again.
  RoomAhead(uint32_t blocks, std::function<bool(uint32_t first, uint32_t count)> ready);
  ~RoomAhead();
  RoomAhead(const RoomAhead&) = delete;
  RoomAhead& operator=(const RoomAhead&) = delete;

  // A writer has taken block number `sequence` of the file's history. Thread-safe.
  void reached(uint64_t sequence);

 private:
  void run();

  const uint32_t blocks_;
  const uint32_t ahead_;  // number of blocks to keep prepared
  const std::function<bool(uint32_t, uint32_t)> ready_;
  const ForkGuard fork_guard_;        // a child of fork() has no such thread
  std::atomic<uint64_t> reached_{0};  // number of blocks taken
  std::atomic<uint64_t> ready_until_{0};
  std::atomic<uint32_t> calls_{0};  // incremented when there is work
  std::atomic<bool> ends_{false};
  Thread thread_;
};

}  // namespace heddle::events::recording
