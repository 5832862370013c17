// The rules by which a path counts as late, silent or without an answer.
#include "transport/path/path_liveness.h"

#include <algorithm>

#include "transport/params.h"
#include "transport/recovery/pto.h"

namespace heddle::transport {

PathJudgement PathLiveness::judge(const SentPool& pool, Nanos now, uint16_t id,
                                  PathCheck check) const {
  const TxPath& path = paths_[id];
  switch (check) {
    case PathCheck::kAfterAcks:
      return {silent(pool, id) ? PathEvent::kSilent : PathEvent::kNone};
    case PathCheck::kTailLoss: {
      const Nanos at = late_at(pool, id);
      if (at > now) return {PathEvent::kNone, at};
      return {PathEvent::kLate, now + tail_loss_delay(paths_.round_trip())};
    }
    case PathCheck::kPto:
      if (!path.active()) return {PathEvent::kProbeUnanswered};
      if (path.sent.in_flight_segments() == 0) return {PathEvent::kNone};
      return {path.health.unanswered_probes() >= params::kTailProbes ? PathEvent::kProbesExhausted
                                                                     : PathEvent::kTailTimeout};
  }
  return {};
}

// Its oldest packet left long before one that another path has delivered. Queues of several links
// differ: the variation of round trips over all paths bounds by how much acknowledgements of one
// path may outrun those of another.
bool PathLiveness::silent(const SentPool& pool, uint16_t id) const {
  const TxPath& path = paths_[id];
  if (!path.active() || id == newest_acked_path_) return false;
  if (path.sent.in_flight_segments() == 0) return false;
  const SentBurst* const oldest = path.sent.oldest(pool);
  if (oldest == nullptr) return false;
  const RoundTrip& all = paths_.round_trip();
  const Nanos longest = all.smoothed() + 4 * all.variation();
  const Nanos rtt = path.trip.measured() ? path.trip.smoothed() : all.smoothed();
  return newest_acked_sent_at_ - oldest->sent_at >
         std::max({2 * rtt, longest, params::kLeastSilence});
}

// An acknowledgement reports all packets that have arrived, on every path. A packet that left
// before an acknowledged one and is not acknowledged itself was overtaken or is lost.
bool PathLiveness::overtaken(uint16_t id, const SentBurst& run) const {
  if (run.sent_at != newest_acked_sent_at_) return run.sent_at < newest_acked_sent_at_;
  return id != newest_acked_path_ || run.first_number < paths_[id].sent.largest_acked();
}

// When the path counts as late, if nothing happens before; never(): there is no evidence for it.
Nanos PathLiveness::late_at(const SentPool& pool, uint16_t id) const {
  const TxPath& path = paths_[id];
  if (!path.active() || path.health.unanswered_probes() > 0) return Nanos::never();
  const SentBurst* const oldest = path.sent.oldest(pool);
  if (oldest == nullptr) return Nanos::never();
  if (!overtaken(id, *oldest)) {
    // If nothing follows, the path of the newest packet that asked is probed.
    if (id != newest_asking_path_ || !path.sent.any_asks(pool)) return Nanos::never();
  }
  const Nanos ack_delay = oldest->later ? kPeerAckDelay : Nanos{};
  // Later packets on the same path show by themselves what is missing, so each of them defers the
  // probe, by twice the time since the oldest left.
  const Nanos followed = path.sent.newest_sent_at(pool) - oldest->sent_at;
  const Nanos delay = std::max(2 * path.trip.smoothed(), tail_loss_delay(paths_.round_trip()));
  return oldest->sent_at + delay + ack_delay + 2 * followed;
}

bool PathLiveness::find_witness(uint16_t id, uint16_t& witness) const {
  witness = newest_acked_path_;
  return witness != id && paths_[witness].active();
}

void PathLiveness::on_ack_requested(Nanos now, uint16_t id, WakeTime& wake) {
  newest_asking_path_ = id;
  check_tail_loss_by(now + tail_loss_delay(paths_.round_trip()), wake);
}

}  // namespace heddle::transport
