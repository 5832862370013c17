// SendWindow: how much may leave now: the congestion controller's window, pacing, and what the
// peer's socket can hold, against what is in flight. Driven by the send controller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/pacer.h"
#include "transport/params.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/recovery/wake_time.h"
#include "transport/send/receive_quota.h"
#include "transport/send/segmentation_limit.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class SendWindow {
 public:
  // `largest_datagram`: bytes that both ends could take. `peer_capacity`: see ReceiveQuota.
  void open(std::unique_ptr<Controller> controller, uint32_t largest_datagram,
            uint64_t peer_capacity);
  void close() { in_flight_bytes_ = in_flight_segments_ = probe_bytes_ = 0; }

  // --- quotas, in bytes with headers ---
  // Bytes that window and pacer allow for a burst now; 0: none. Sets `wake` where pacing holds
  // back.
  uint64_t burst_quota(Nanos now, WakeTime& wake);
  // Segments of `size` bytes within `quota` that the peer's socket can hold as well; one if nothing
  // is in flight.
  uint32_t segments_within(Nanos now, uint64_t quota, uint64_t size, WakeTime& wake);
  // Whether a burst of these segments, in datagrams or as one packet of a payload strategy, uses
  // the window up.
  bool ends_with(uint32_t segments, uint64_t size, bool datagrams) const;
  uint64_t left() const {
    const uint64_t window = controller_->window().count;
    return window > in_flight_bytes_ ? window - in_flight_bytes_ : 0;
  }
  // Whether these bytes may leave before anything is acknowledged.
  bool holds(uint64_t bytes, uint64_t segments) const;
  // Whether a burst of `bytes` should ask for an acknowledgement. `window_ends`: it uses the window
  // up.
  bool worth_asking(uint64_t bytes, bool window_ends) const;
  // Whether a size probe of `bytes` (0: none is wanted) may leave now: the peer's socket can hold
  // it besides what is in flight. If not, room for it is kept from later bursts. (A probe that the
  // socket could not hold alone either waits for nothing.)
  bool admits_probe(Nanos now, uint64_t bytes) {
    const uint64_t cost = bytes + params::kReceiveOverhead;
    const bool fits = cost > quota_.capacity() || quota_.left(now, held()) >= cost;
    reserved_ = fits || bytes == 0 ? 0 : cost;
    return fits && bytes > 0;
  }

  // --- limited by the window, or by the application ---
  bool limited() const { return limited_; }
  void set_limited(bool limited) { limited_ = limited; }
  // There was something to send, and another limit than the window held it back.
  void note_held_back() {
    limited_ = is_short(controller_->window().count, left()) || left() < largest_datagram_;
  }

  // --- in flight ---
  // `probe`: the bytes of a size probe. It is part of no window, but the peer's socket holds it,
  // too.
  void on_sent(Nanos now, uint64_t bytes, uint32_t segments, uint64_t probe) {
    in_flight_bytes_ += bytes;
    in_flight_segments_ += segments;
    probe_bytes_ += probe;
    if (probe > 0) quota_.on_sent(now, probe + params::kReceiveOverhead);
  }
  void on_payload_sent(Nanos now, uint64_t bytes, uint32_t segments, bool asks) {
    bytes_since_request_ = asks ? 0 : bytes_since_request_ + bytes;
    if (in_flight_bytes_ == bytes) pacer_.on_idle();  // on_sent() has counted them
    pacer_.on_sent(now, {bytes}, controller_->pacing_rate());
    quota_.on_sent(now, bytes + uint64_t{params::kReceiveOverhead} * segments);
  }
  void on_left_flight(uint64_t bytes, uint32_t segments, uint64_t probe) {
    in_flight_bytes_ -= bytes;
    in_flight_segments_ -= segments;
    probe_bytes_ -= probe;
  }
  // An acknowledgement was processed; the newest of its packets left at `sent_at`. `held_before`:
  // held() before it. `min_rtt`: of the connection.
  void on_acked(Nanos now, Nanos sent_at, uint64_t held_before, Nanos min_rtt) {
    quota_.on_acked(now, sent_at, held_before - held(), min_rtt);
  }
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }
  uint32_t in_flight_segments() const { return in_flight_segments_; }
  // What the peer's socket would hold if all in flight arrived at once.
  uint64_t held() const {
    return in_flight_bytes_ + probe_bytes_ +
           uint64_t{params::kReceiveOverhead} * in_flight_segments_;
  }

  Controller& controller() { return *controller_; }
  const Controller& controller() const { return *controller_; }
  bool is_open() const { return controller_ != nullptr; }
  ReceiveQuota& peer() { return quota_; }
  const ReceiveQuota& peer() const { return quota_; }
  SegmentationLimit& segmentation() { return segmentation_; }

 private:
  // Whether `left` of a window is too little for a burst.
  static bool is_short(uint64_t window, uint64_t left) {
    return left < std::min<uint64_t>(kMaxBurstBytes, window / params::kLeastWindowPart);
  }

  std::unique_ptr<Controller> controller_;
  Pacer pacer_;
  ReceiveQuota quota_;
  SegmentationLimit segmentation_;
  uint64_t in_flight_bytes_ = 0;
  uint32_t in_flight_segments_ = 0;
  uint32_t largest_datagram_ = 0;
  uint64_t probe_bytes_ = 0;          // of size probes in flight
  uint64_t reserved_ = 0;             // of the peer's socket, for a size probe that waits
  uint64_t bytes_since_request_ = 0;  // payload sent since an acknowledgement was asked for
  bool limited_ = false;
};

}  // namespace heddle::transport
