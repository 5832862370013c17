// Takeover: see takeover.h.
#include "engine/takeover.h"

#include <algorithm>

namespace heddle::engine {

Nanos Takeover::next_look(Nanos now, Nanos wanted, bool watches_input) const {
  if (held()) return Nanos::never();
  if (!helper_may_drive(now)) return caller_at_ + patience_;
  const Nanos due = std::max(now, wanted);
  return watches_input ? due : std::min(due, now + kBlindPoll);
}

}  // namespace heddle::engine
