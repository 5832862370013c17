// ReceiverShare: this connection's share of what its endpoint can receive at a time. Connections
// that lately received payload share the capacity of the endpoint's socket evenly.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/connection/shared.h"
#include "transport/send/send_controller.h"

namespace heddle::transport {

class ReceiverShare {
 public:
  explicit ReceiverShare(Shared& shared) : shared_(shared) {}

  // What the peer may have in flight towards this side.
  uint64_t window() const {
    const uint64_t others = shared_.receiving - (counted_ ? 1u : 0u);
    constexpr uint64_t kLeast =
        2 * (SendController::kBaseDatagram + SendController::kReceiveOverhead);
    return std::max(kLeast, shared_.options.receive_capacity.count / (others + 1));
  }
  // Payload arrived.
  void note_payload(Nanos now) {
    payload_at_ = now;
    if (counted_) return;
    counted_ = true;
    ++shared_.receiving;
  }
  // The connection no longer counts as receiving if its latest payload arrived before `horizon`.
  void expire(Nanos horizon) {
    if (payload_at_ < horizon) release();
  }
  void release() {
    if (counted_) --shared_.receiving;
    counted_ = false;
  }

 private:
  Shared& shared_;
  Nanos payload_at_;      // latest arrival of payload
  bool counted_ = false;  // in shared_.receiving
};

}  // namespace heddle::transport
