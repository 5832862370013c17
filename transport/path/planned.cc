// Weighted turns: see planned.h.
#include "transport/path/planned.h"

#include <algorithm>

#include "transport/params.h"
#include "transport/path/reps.h"

namespace heddle::transport {

using namespace params::planned;

Planned::Planned() : adaptive_(make_reps()) {}

void Planned::set_shares(std::span<const PlannedShare> shares) {
  turns_.clear();
  for (const PlannedShare& each : shares) {
    if (each.share_per_million > 0) turns_.push_back({each.path, each.share_per_million});
  }
}

uint32_t Planned::select(const UsablePaths& usable, Random& random) {
  const Turn* next = nullptr;
  double least = 0;
  uint32_t chosen = 0;
  for (const Turn& turn : turns_) {
    if (next != nullptr && turn.sent >= least) continue;
    const uint32_t at = usable.find(turn.path);
    if (at == UsablePaths::kNowhere) continue;
    const double sent = turn.sent + turn.of_share(kQueueWeight * turn.queued_bytes(usable[at]));
    if (next != nullptr && sent >= least) continue;
    next = &turn;
    least = sent;
    chosen = at;
  }
  if (next == nullptr) return adaptive_->select(usable, random);
  const double most_behind = next->sent - kMostArrears_bytes;
  for (Turn& turn : turns_) turn.sent = std::max(turn.sent, most_behind);
  return chosen;
}

void Planned::on_sent(uint16_t path, Bytes sent) {
  for (Turn& turn : turns_) {
    if (turn.path != path) continue;
    turn.sent += turn.of_share(static_cast<double>(sent.count));
  }
  adaptive_->on_sent(path, sent);
}

// Of what is in flight, the part by which the round trip is longer than the path's shortest.
double Planned::Turn::queued_bytes(const PathSample& sample) const {
  if (sample.latest_rtt <= shortest_rtt) return 0;
  const double longer =
      1 - static_cast<double>(shortest_rtt.count) / static_cast<double>(sample.latest_rtt.count);
  return longer * static_cast<double>(sample.in_flight.count);
}

void Planned::on_ack(uint16_t path, const PathSample& sample, Bytes acked) {
  for (Turn& turn : turns_) {
    if (turn.path != path || sample.latest_rtt == Nanos{}) continue;
    turn.shortest_rtt = std::min(turn.shortest_rtt, sample.latest_rtt);
  }
  adaptive_->on_ack(path, sample, acked);
}

std::unique_ptr<Selector> make_planned() { return std::make_unique<Planned>(); }

}  // namespace heddle::transport
