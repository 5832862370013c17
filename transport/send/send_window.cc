// The limits of a burst, and when to ask for an acknowledgement.
#include "transport/send/send_window.h"

#include <algorithm>
#include <utility>

#include "transport/recovery/ack_rules.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

void SendWindow::open(std::unique_ptr<Controller> controller, uint32_t largest_datagram,
                      uint64_t peer_capacity) {
  controller_ = std::move(controller);
  largest_datagram_ = largest_datagram;
  quota_ = {};
  quota_.set_capacity(peer_capacity);
}

uint64_t SendWindow::burst_quota(Nanos now, WakeTime& wake) {
  const uint64_t whole = controller_->window().count;
  const uint64_t window = whole - std::min(whole, in_flight_bytes_);
  if (in_flight_bytes_ > 0 && is_short(whole, window)) {
    limited_ = true;
    return 0;
  }
  const uint64_t paced =
      pacer_.allowance(now, controller_->pacing_rate(), {largest_datagram_}).count;
  if (paced == 0) wake.by(pacer_.ready_at());
  // Bursts that are large beside the window would make queues that no controller asked for.
  const uint64_t burst = std::max<uint64_t>(controller_->burst_limit().count, largest_datagram_);
  return std::min<uint64_t>({std::max<uint64_t>(window, 1), paced, burst, kMaxBurstBytes});
}

uint32_t SendWindow::segments_within(Nanos now, uint64_t quota, uint64_t size, WakeTime& wake) {
  const uint64_t cost = size + params::kReceiveOverhead;
  const uint64_t room = quota_.left(now, held());
  const uint64_t fits = std::min(quota / size, (room - std::min(room, reserved_)) / cost);
  if (fits > 0) return static_cast<uint32_t>(std::min<uint64_t>(fits, segmentation_.most()));
  if (in_flight_bytes_ + probe_bytes_ == 0) return 1;
  if (room < cost) {
    quota_.note_short();
    wake.by(quota_.ready_at(now, held(), cost));
  }
  return 0;
}

bool SendWindow::ends_with(uint32_t segments, uint64_t size, bool datagrams) const {
  const uint64_t whole = controller_->window().count;
  const uint64_t after = whole - std::min(whole, in_flight_bytes_ + segments * size);
  const bool fills_peer =
      datagrams &&
      held() + reserved_ + (segments + 1) * (size + params::kReceiveOverhead) > quota_.most();
  return fills_peer || after < whole / params::kLeastWindowPart;
}

// Where the window is used up it is refilled in steps; if each of many small packets asked, each
// would be acknowledged alone.
bool SendWindow::worth_asking(uint64_t bytes, bool window_ends) const {
  const uint64_t window = std::min(controller_->window().count, quota_.most());
  if (window_ends) return bytes_since_request_ + bytes >= window / params::kAcksRequestedAWindow;
  // The peer acknowledges several long bursts at a time. A window that holds fewer would leave as a
  // whole and then wait for the answer.
  return bytes >= AckRules::kBytes && window < AckRules::kArrivals * uint64_t{kMaxBurstBytes} &&
         bytes_since_request_ + bytes >= window / 2;
}

bool SendWindow::holds(uint64_t bytes, uint64_t segments) const {
  const uint64_t cost = bytes + params::kReceiveOverhead * segments;
  return bytes <= left() && held() + cost + reserved_ <= quota_.most();
}

}  // namespace heddle::transport
