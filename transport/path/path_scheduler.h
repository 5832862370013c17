// PathScheduler: which path the next burst of payload takes. It keeps the usable paths in front of
// its order, asks the Selector, keeps small messages of one moment together, and probes paths with
// stale samples before they carry payload again. Driven by the send controller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "events/events.h"
#include "transport/congestion/controller.h"
#include "transport/path/path_aging.h"
#include "transport/path/path_restriction.h"
#include "transport/path/path_set.h"
#include "transport/path/probe_queue.h"
#include "transport/path/selector.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class PathScheduler {
 public:
  // What a choice depends on besides the paths.
  struct Load {
    const Controller& controller;
    uint64_t in_flight_bytes;
  };

  explicit PathScheduler(PathSet& paths) : paths_(paths) {}

  // `longest_burst`: bytes of a burst on one of several paths, at most; 0: kMaxBurstBytes.
  void open(Nanos now, std::unique_ptr<Selector> selector, uint32_t longest_burst);
  void close() { active_ = usable_ = 0; }

  // --- choice ---
  bool any_usable() const { return usable_ > 0; }
  // The path of the next burst; at least one is usable. Adds to `probes` the paths with stale
  // samples that it passed over.
  uint16_t choose(Nanos now, Random& random, const Load& load, ProbeQueue& probes);
  // Begins a burst on this path, without a choice.
  uint16_t begin_burst(uint16_t id, const Controller& controller);
  bool is_usable(uint16_t id) const { return paths_[id].share.place() < usable_; }
  void end_burst() { burst_left_ = 0; }
  uint32_t burst_left() const { return burst_left_; }  // bytes
  // Bytes that may be in flight on one path.
  uint64_t path_cap(const Controller& controller) const;
  // The path that a choice falls on first.
  uint16_t first() const { return order_[0]; }

  // --- what happens to paths ---
  void on_sent(uint16_t id, uint64_t bytes, const Controller& controller);
  void on_acked(uint16_t id, uint64_t bytes) { selector_->on_ack(id, sample_of(id), {bytes}); }
  // After anything changed that is_usable() depends on.
  void refresh(uint16_t id, const Controller& controller);
  void enter(uint16_t id, events::PathState state);
  // The step to report where payload leaves the paths it is fixed to, or returns to them.
  std::optional<events::RecoveryStep> update_restriction(const Controller& controller);
  // Fixes payload to these paths (PathRestriction::set); update_restriction() must follow.
  bool restrict_to(std::span<const uint16_t> chosen, const Controller& controller);
  // Of paths that payload is fixed to; for selectors that follow a plan.
  void set_shares(std::span<const PlannedShare> shares) { selector_->set_shares(shares); }
  bool restricted() const { return restriction_.restricted(); }

  // --- samples ---
  void advance_age(Nanos now) { aging_.advance(now, paths_.round_trip().smoothed()); }
  void expire_samples() { aging_.expire(); }
  // A round trip was measured. True: the samples before it were stale.
  bool note_sample(uint16_t id);
  void note_loss(uint16_t id);
  // Acknowledgements rose from `acked_from`: one loss is forgotten each kLossForgottenAfter
  // numbers.
  void forget_losses(uint16_t id, uint64_t acked_from);

  uint32_t active() const { return active_; }  // paths that payload may take
  size_t bytes_held() const { return order_.capacity() * sizeof(uint16_t); }

 private:
  void count_active(const Controller& controller);
  void swap_places(uint32_t a, uint32_t b);
  uint32_t burst_bytes(const Controller& controller) const;
  uint16_t proven_path(Nanos now, Random& random, const Load& load, ProbeQueue& probes);
  bool must_probe_first(uint16_t id) const {
    return usable_ > 1 && paths_.is_datagram_path(id) &&
           aging_.stale(paths_[id].share.sampled_in());
  }
  // Half of them are forgotten with each phase without a loss.
  uint32_t recent_losses(uint16_t id) const {
    const PathShare& share = paths_[id].share;
    return share.recent_losses() >> std::min<uint32_t>(aging_.age(share.sampled_in()), 7);
  }
  PathSample sample_of(uint16_t id) const;
  UsablePaths usable() const;

  PathSet& paths_;
  std::unique_ptr<Selector> selector_;
  PathAging aging_;
  std::vector<uint16_t> order_;  // of all paths, usable ones first
  uint32_t usable_ = 0;
  uint32_t active_ = 0;
  uint32_t longest_burst_ = kMaxBurstBytes;
  uint32_t burst_left_ = 0;  // bytes that may follow on burst_path_; 0: another is chosen
  uint32_t sent_since_stale_probe_ = UINT32_MAX;  // bytes
  uint16_t burst_path_ = 0;
  PathRestriction restriction_;
  Nanos burst_until_;
  Nanos stale_probe_at_;
};

}  // namespace heddle::transport
