// Weighted turns: see planned.h.
#include "transport/path/planned.h"

#include <algorithm>

#include "transport/path/reps.h"

namespace heddle::transport {
namespace {

constexpr double kWhole = 1e6;
// A path that could not be used makes up for at most this much of the connection's payload; more
// would be a burst on it.
constexpr double kMostArrears_bytes = 1 << 20;

}  // namespace

Planned::Planned() : adaptive_(make_reps()) {}

void Planned::set_shares(std::span<const PlannedShare> shares) {
  turns_.clear();
  for (const PlannedShare& each : shares) {
    if (each.share_per_million > 0) turns_.push_back({each.path, each.share_per_million, 0});
  }
}

uint32_t Planned::select(const UsablePaths& usable, Random& random) {
  Turn* next = nullptr;
  uint32_t chosen = 0;
  for (Turn& turn : turns_) {
    if (next != nullptr && turn.sent >= next->sent) continue;
    const uint32_t at = usable.find(turn.path);
    if (at == UsablePaths::kNowhere) continue;
    next = &turn;
    chosen = at;
  }
  if (next == nullptr) return adaptive_->select(usable, random);
  for (Turn& turn : turns_) turn.sent = std::max(turn.sent, next->sent - kMostArrears_bytes);
  return chosen;
}

void Planned::on_sent(uint16_t path, Bytes sent) {
  for (Turn& turn : turns_) {
    if (turn.path != path) continue;
    turn.sent += static_cast<double>(sent.count) * kWhole / turn.share_per_million;
  }
  adaptive_->on_sent(path, sent);
}

void Planned::on_ack(uint16_t path, const PathSample& sample, Bytes acked) {
  adaptive_->on_ack(path, sample, acked);
}

std::unique_ptr<Selector> make_planned() { return std::make_unique<Planned>(); }

}  // namespace heddle::transport
