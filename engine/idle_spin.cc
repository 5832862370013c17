// Spinning before sleep: see idle_spin.h.
#include "engine/idle_spin.h"

#include <thread>

#include "engine/params.h"

namespace heddle::engine {

void IdleSpin::step(Nanos idle, bool pauses) {
  if (core_is_wanted_ || idle >= params::kYieldAfter) {
    const Nanos before = clock_.now();
    std::this_thread::yield();
    core_is_wanted_ = clock_.now() - before >= params::kYieldTaken;
  } else if (pauses) {
    spin_pause();
  }
}

}  // namespace heddle::engine
