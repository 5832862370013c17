// Choosing a path, and keeping the order of usable paths up to date.
#include "transport/path/path_scheduler.h"

#include <algorithm>
#include <utility>

#include "transport/params.h"

namespace heddle::transport {
namespace {

// Bytes in flight on one path are counted in 32 bits.
constexpr uint64_t kMostOnPath = uint64_t{1} << 31;

}  // namespace

void PathScheduler::open(Nanos now, std::unique_ptr<Selector> selector, uint32_t longest_burst) {
  selector_ = std::move(selector);
  if (longest_burst > 0) longest_burst_ = std::min(longest_burst, kMaxBurstBytes);
  aging_.open(now, paths_.round_trip().smoothed());
  const uint16_t total = paths_.size();
  const uint16_t strategy = paths_.strategy_paths();
  const uint16_t datagrams = paths_.datagram_paths();
  order_ = std::vector<uint16_t>(total);
  active_ = usable_ = strategy > 0 ? strategy : datagrams;
  // Paths that carry payload are usable, so they stand first.
  for (uint16_t id = 0; id < total; ++id) {
    const auto at = static_cast<uint16_t>(
        paths_.is_payload_kind(id) ? id - (strategy > 0 ? datagrams : 0) : strategy + id);
    paths_[id].share.set_place(at);
    order_[at] = id;
  }
}

// Twice its even share of the window, so that a slow or dead path cannot hold all of it.
uint64_t PathScheduler::path_cap(const Controller& controller) const {
  if (active_ <= 1) return kMostOnPath;
  const uint64_t share = params::kPathShares * controller.window().count / active_;
  return std::clamp<uint64_t>(share, 2 * kMaxBurstBytes, kMostOnPath);
}

// On one of several paths a burst is a small part of the window, so that no path's queue swells by
// it. Where the pacing rate is high a burst of this time makes no queue, and an application that
// sends little at a time never makes its window grow.
uint32_t PathScheduler::burst_bytes(const Controller& controller) const {
  if (active_ <= 1) return kMaxBurstBytes;
  const uint64_t part = std::max(controller.window().count / params::kBurstsAWindow,
                                 bytes_within(params::kShortBurst, controller.pacing_rate()).count);
  return static_cast<uint32_t>(std::clamp<uint64_t>(part, 1, longest_burst_));
}

// The selector's choice, unless its samples are stale while other paths are known to work: then the
// path is probed first, because payload on a path that has died delays all messages behind it.
// Small messages, each of which may choose anew, cause no more probes than messages that fill their
// bursts, unless their path loses packets: where round trips are short, every path is stale after a
// few messages. At low load they cause fewer.
uint16_t PathScheduler::proven_path(Nanos now, Random& random, const Load& load,
                                    ProbeQueue& probes) {
  uint16_t id = order_[selector_->select(usable(), random)];
  if (!must_probe_first(id) || !is_usable(burst_path_)) return id;
  const uint32_t half_burst = burst_bytes(load.controller) / 2;
  const bool low_load =
      load.in_flight_bytes < half_burst && now < stale_probe_at_ + params::kStaleProbeEvery;
  const uint64_t spared = low_load ? params::kSparedStaleProbes : 1;
  const bool may_probe =
      sent_since_stale_probe_ >= spared * half_burst || recent_losses(burst_path_) > 0;
  if (must_probe_first(burst_path_) || !may_probe) return burst_path_;
  for (int tries = 0; tries < params::kSelectionTries && must_probe_first(id); ++tries) {
    if (paths_[id].sent.in_flight_segments() == 0) {
      probes.push(paths_, id);
      sent_since_stale_probe_ = 0;
      stale_probe_at_ = now;
    }
    id = order_[selector_->select(usable(), random)];
  }
  return must_probe_first(id) ? burst_path_ : id;
}

uint16_t PathScheduler::begin_burst(uint16_t id, const Controller& controller) {
  burst_left_ = paths_.is_datagram_path(id) ? burst_bytes(controller) : 0;
  return burst_path_ = id;
}

// Small messages that leave together share a path, as the segments of a large message do, and so do
// their acknowledgements.
uint16_t PathScheduler::choose(Nanos now, Random& random, const Load& load, ProbeQueue& probes) {
  const bool goes_on = burst_left_ > burst_bytes(load.controller) / 2 && now < burst_until_;
  if (goes_on && is_usable(burst_path_)) return burst_path_;
  const uint16_t id = proven_path(now, random, load, probes);
  burst_until_ = now + params::kLongestBurst;
  return begin_burst(id, load.controller);
}

void PathScheduler::on_sent(uint16_t id, uint64_t bytes, const Controller& controller) {
  const auto sent = static_cast<uint32_t>(bytes);
  burst_left_ -= std::min(burst_left_, sent);
  sent_since_stale_probe_ += std::min(UINT32_MAX - sent_since_stale_probe_, sent);
  selector_->on_sent(id, {bytes});
  refresh(id, controller);
}

void PathScheduler::swap_places(uint32_t a, uint32_t b) {
  std::swap(order_[a], order_[b]);
  paths_[order_[a]].share.set_place(a);
  paths_[order_[b]].share.set_place(b);
}

void PathScheduler::refresh(uint16_t id, const Controller& controller) {
  const TxPath& path = paths_[id];
  const uint32_t at = path.share.place();
  const bool usable = restriction_.allows(paths_, id) && path.active() &&
                      !paths_.too_far_ahead(id) &&
                      path.sent.in_flight_bytes() + paths_.packet_bytes(id) <= path_cap(controller);
  if (usable && at >= usable_) swap_places(at, usable_++);
  if (!usable && at < usable_) swap_places(at, --usable_);
}

void PathScheduler::enter(uint16_t id, events::PathState state) {
  PathHealth& health = paths_[id].health;
  if (restriction_.allows(paths_, id)) {
    active_ -= health.active() ? 1 : 0;
    active_ += state == events::PathState::kActive ? 1 : 0;
  }
  health.enter(state);
}

void PathScheduler::count_active(const Controller& controller) {
  active_ = 0;
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    active_ += paths_[id].active() && restriction_.allows(paths_, id) ? 1 : 0;
  }
  for (uint16_t id = 0; id < paths_.size(); ++id) refresh(id, controller);
}

bool PathScheduler::restrict_to(std::span<const uint16_t> chosen, const Controller& controller) {
  if (!restriction_.set(paths_, chosen)) return false;
  count_active(controller);
  return true;
}

std::optional<events::RecoveryStep> PathScheduler::update_restriction(
    const Controller& controller) {
  if (!restriction_.update(paths_)) return std::nullopt;
  count_active(controller);
  return restriction_.fallback() ? events::RecoveryStep::kChoiceFailed
                                 : events::RecoveryStep::kChoiceReturned;
}

bool PathScheduler::note_sample(uint16_t id) {
  PathShare& share = paths_[id].share;
  const bool stale = aging_.stale(share.sampled_in());
  share.set_recent_losses(recent_losses(id), aging_.phase());
  return stale;
}

void PathScheduler::note_loss(uint16_t id) {
  paths_[id].share.set_recent_losses(recent_losses(id) + 1, aging_.phase());
}

void PathScheduler::forget_losses(uint16_t id, uint64_t acked_from) {
  TxPath& path = paths_[id];
  const bool forget = path.sent.largest_acked() / params::kLossForgottenAfter !=
                      acked_from / params::kLossForgottenAfter;
  if (forget) path.share.forget_one_loss();
}

PathSample PathScheduler::sample_of(uint16_t id) const {
  const TxPath& path = paths_[id];
  PathSample sample;
  sample.path = id;
  sample.latest_rtt = path.trip.latest();
  sample.in_flight = {path.sent.in_flight_bytes()};
  sample.recent_losses = recent_losses(id);
  sample.marked = path.share.marked();
  sample.stale = aging_.stale(path.share.sampled_in());
  return sample;
}

UsablePaths PathScheduler::usable() const {
  return {this, usable_,
          [](const void* owner, uint32_t at) {
            const auto* scheduler = static_cast<const PathScheduler*>(owner);
            return scheduler->sample_of(scheduler->order_[at]);
          },
          [](const void* owner, uint16_t id) {
            const auto* scheduler = static_cast<const PathScheduler*>(owner);
            if (id >= scheduler->paths_.size() || !scheduler->is_usable(id)) {
              return UsablePaths::kNowhere;
            }
            return scheduler->paths_[id].share.place();
          }};
}

}  // namespace heddle::transport
