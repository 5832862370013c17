// Weighted turns: see planned.h.
#include "transport/path/planned.h"

#include <algorithm>

#include "transport/path/reps.h"

namespace heddle::transport {
namespace {

// A path that could not be used makes up for at most this much of the connection's payload; more
// would be a burst on it.
constexpr double kMostArrears_bytes = 1 << 20;
// Bytes in flight count this much more than those sent: a path whose queue is longer than the
// others' gets less than its share, the others more. Source: 60 simulated fabrics whose leaves lost
// an uplink, where strict shares reach 0.95 of it. Range: 0.1 to 0.4.
constexpr double kInFlightWeight = 0.4;

}  // namespace

Planned::Planned() : adaptive_(make_reps()) {}

void Planned::set_shares(std::span<const PlannedShare> shares) {
  turns_.clear();
  for (const PlannedShare& each : shares) {
    if (each.share_per_million > 0) turns_.push_back({each.path, each.share_per_million, 0});
  }
}

uint32_t Planned::select(const UsablePaths& usable, Random& random) {
  const Turn* next = nullptr;
  double least = 0;
  uint32_t chosen = 0;
  for (const Turn& turn : turns_) {
    const uint32_t at = usable.find(turn.path);
    if (at == UsablePaths::kNowhere) continue;
    const double sent = turn.sent + turn.of_share(kInFlightWeight *
                                                  static_cast<double>(usable[at].in_flight.count));
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

void Planned::on_ack(uint16_t path, const PathSample& sample, Bytes acked) {
  adaptive_->on_ack(path, sample, acked);
}

std::unique_ptr<Selector> make_planned() { return std::make_unique<Planned>(); }

}  // namespace heddle::transport
