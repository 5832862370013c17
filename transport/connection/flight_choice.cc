// Which paths may carry payload, where somebody chose: a plan, or what is known of the fabric's
// ways. The others are still probed, acknowledge, and step in while none of the chosen ones works.
#include <algorithm>

#include "transport/connection/flight.h"

namespace heddle::transport {

using events::RecoveryStep;

bool Flight::choose(Nanos now, std::span<const uint16_t> chosen) {
  const bool known = std::all_of(chosen.begin(), chosen.end(), [this](uint16_t id) {
    return id < paths_.size() && of_payload(id);
  });
  if (!known) return false;
  chosen_ = !chosen.empty();
  for (TxPath& path : paths_) path.left_out = chosen_;
  for (const uint16_t id : chosen) paths_[id].left_out = false;
  strayed_ = false;
  count_active();
  settle_choice(now);
  end_burst();
  return true;
}

// Payload must not wait for a path that may never return: while no chosen one works it takes the
// others.
void Flight::settle_choice(Nanos now) {
  bool works = !chosen_;
  for (uint16_t id = 0; id < paths_.size() && !works; ++id) {
    works = of_payload(id) && !paths_[id].left_out && paths_[id].active();
  }
  if (works != strayed_) return;
  strayed_ = !works;
  count_active();
  observer_.step(now, connection_, UINT16_MAX,
                 strayed_ ? RecoveryStep::kChoiceFailed : RecoveryStep::kChoiceReturned);
}

bool Flight::all_active() const {
  return std::all_of(paths_.begin(), paths_.end(),
                     [](const TxPath& path) { return path.active(); });
}

void Flight::count_active() {
  active_ = 0;
  for (uint16_t id = 0; id < paths_.size(); ++id) active_ += paths_[id].active() && carries(id);
  for (uint16_t id = 0; id < paths_.size(); ++id) refresh_usable(id);
}

}  // namespace heddle::transport
