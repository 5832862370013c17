// Which signs of congestion are new, which only complete an earlier one, and which are stale.
#include "transport/congestion/reduction.h"

#include <algorithm>

#include "transport/congestion/fixed_point.h"

namespace heddle::transport {

Reduction::Answer Reduction::answer(Nanos now, const CongestionSign& sign, uint64_t window,
                                    uint32_t keep, bool undoable) {
  const bool shared = sign.alone();
  if (precedes_latest(sign.sent_at)) {
    if (!deepens_ || shared) return {Kind::kNone, shared, window};
    deepens_ = false;
    undoable_ = undoable_ && undoable;
    return {Kind::kDeeper, false, std::min(window, multiply_divide(before_, keep, kWhole))};
  }
  if (shared) keep = kWhole - (kWhole - keep) / sign.active_paths;
  began_ = now;
  before_ = window;
  deepens_ = shared;
  undoable_ = undoable;
  return {Kind::kFirst, shared, multiply_divide(window, keep, kWhole)};
}

bool Reduction::timeout_persists(Nanos now, const LossSample& loss) {
  if (!loss.timeout || precedes_latest(loss.sent_at)) return false;
  if (++timeouts_ < 2) return false;
  began_ = now;
  deepens_ = undoable_ = false;
  return true;
}

bool Reduction::take_undo() {
  const bool taken = undoable_;
  undoable_ = false;
  if (taken) deepens_ = false;
  return taken;
}

}  // namespace heddle::transport
