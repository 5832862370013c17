// LossDetector: lets a path's SentList (sent_bursts.h) find lost packets by a reorder window, makes
// that window fit spurious losses, and drops old records. Losses found together become a LossBatch.
// Driven by the send controller.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"
#include "transport/path/tx_path.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/recovery/wake_time.h"

namespace heddle::transport {

// Packets that were declared lost at once.
struct LossBatch {
  uint64_t bytes = 0;
  uint32_t segments = 0;  // probes of a size not included
  Nanos sent_at;          // of the newest

  void add(const SentBurst& run, uint64_t lost_bytes, uint32_t count) {
    bytes += lost_bytes;
    segments += run.sizes_path ? 0 : count;
    sent_at = std::max(sent_at, run.sent_at);
  }
};

class LossDetector {
 public:
  // Declares packets lost that were overtaken for too long. `acked_sent_at`: when the newest packet
  // of an acknowledgement left, 0 without one (see SentList::ReorderLimits).
  static void detect(SentPool& pool, Nanos now, TxPath& path, Nanos acked_sent_at,
                     SentBurstListener& listener) {
    const Nanos stale =
        std::max(2 * path.window.time(), path.trip.smoothed() / 2 + params::kStaleSlack);
    path.loss_check_at =
        CoarseTime(path.sent.detect(pool, now, {path.window, stale, acked_sent_at}, listener));
  }

  // Packets that were declared lost were acknowledged: the reorder window of their path grows.
  // `min_rtt`: of the connection.
  void on_spurious(Nanos now, TxPath& path, const AckOutcome& outcome, Nanos min_rtt);
  uint64_t spurious_segments() const { return spurious_segments_; }

  // Drops records of packets that were lost too long ago to arrive. The endpoint lends the records,
  // so this must not wait for an acknowledgement: without a record no packet leaves that could be
  // acknowledged.
  static void forget(SentPool& pool, Nanos now, TxPath& path) {
    const Nanos kept =
        std::max(params::kForgetAfterTrips * path.trip.smoothed(), params::kForgetAfterLeast);
    path.sent.forget_lost(pool, now - kept);
  }
  // The probe timer of a path without packets in flight drops records.
  static void forget_later(Nanos now, TxPath& path, WakeTime& wake);

 private:
  uint64_t spurious_segments_ = 0;
};

}  // namespace heddle::transport
