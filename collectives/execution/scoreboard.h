// Scoreboard: which of a schedule's next steps may be done at once. A schedule means one step after
// the other; a step waits here only for those before it that touch the same memory (and one of them
// writes), and messages of a stream are posted in their order. Thornton's scoreboard (1964), over
// ranges of memory instead of registers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "collectives/params.h"

namespace heddle::collectives {

// Addresses [begin, end); an empty range overlaps none.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(const Range& other) const {
    return std::max(begin, other.begin) < std::min(end, other.end);
  }
};

class Scoreboard {
 public:
  // The most steps that run at once.
  static constexpr uint32_t kWindow = params::kStepWindow;
  static constexpr uint64_t kNoStream = 0;

  struct Demand {
    Range read;
    Range written;
    uint64_t stream = kNoStream;  // of the messages that must be posted in order
    // What is written comes after all that steps before it do there: when it arrives, they are
    // over.
    bool answers = false;
  };

  bool full() const { return live_ == UINT32_MAX; }
  bool empty() const { return live_ == 0; }
  // One bit per running step.
  uint32_t live() const { return live_; }

  // Takes the next step of the schedule; returns its slot. CHECKs that it is not full().
  uint32_t admit(const Demand& demand);

  // All that comes before it on its stream is posted.
  bool may_post(uint32_t slot) const { return unposted_[slot] == 0; }
  // True if no earlier step still uses memory that it needs.
  bool may_touch(uint32_t slot) const { return hazards_[slot] == 0; }
  // One bit per step that it answers and that still uses the memory that it will write: it may be
  // posted, but nothing may be written there before those steps end.
  uint32_t answered(uint32_t slot) const { return answered_[slot]; }

  void on_posted(uint32_t slot);
  // It will not touch its memory any more, though it goes on.
  void on_touched(uint32_t slot);
  // It is over: the slot is free.
  void on_done(uint32_t slot);

 private:
  uint32_t live_ = 0;
  uint32_t posted_ = 0;
  std::array<Demand, kWindow> demands_{};
  std::array<uint32_t, kWindow> unposted_{};  // for each slot, those that must be posted first
  std::array<uint32_t, kWindow> hazards_{};   // and those that must be through with their memory
  std::array<uint32_t, kWindow> answered_{};  // of one that answers, those instead
};

}  // namespace heddle::collectives
