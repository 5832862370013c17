// RoomAhead: readies the blocks that a recording comes to next, from a thread of its own. To take
// room on the disk and to touch a page for the first time costs tens of microseconds, and would
// otherwise be in the midst of what is recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/fork_guard.h"
#include "base/thread.h"

namespace heddle::events::recording {

class RoomAhead {
 public:
  // Blocks are used in turn, again and again. `ready(first, count)` readies so many in a row, in
  // that thread; false: there is no more room, and it is not called again.
  RoomAhead(uint32_t blocks, std::function<bool(uint32_t first, uint32_t count)> ready);
  ~RoomAhead();
  RoomAhead(const RoomAhead&) = delete;
  RoomAhead& operator=(const RoomAhead&) = delete;

  // A writer has come to the block that is `sequence`-th in the file's history. Any thread.
  void reached(uint64_t sequence);

 private:
  void run();

  const uint32_t blocks_;
  const uint32_t ahead_;  // so many are ready, or become so
  const std::function<bool(uint32_t, uint32_t)> ready_;
  const ForkGuard fork_guard_;        // a child has no such thread
  std::atomic<uint64_t> reached_{0};  // so many have been taken
  std::atomic<uint64_t> ready_until_{0};
  std::atomic<uint32_t> calls_{0};  // that there is something to do
  std::atomic<bool> ends_{false};
  Thread thread_;
};

}  // namespace heddle::events::recording
