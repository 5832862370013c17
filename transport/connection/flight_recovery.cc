// The returning half of Flight: acknowledgements, round trips, losses and what is learnt from
// needless repeats.
#include <algorithm>

#include "transport/connection/flight.h"

namespace heddle::transport {

using events::LossCause;
using events::RecoveryStep;

namespace {

// A phase is so many round trips, as smoothed over all paths.
constexpr int64_t kPhaseTrips = 4;
// After a pause so many phases pass at once: all that was measured before is stale.
constexpr int64_t kMostPhases = 16;

// So much of the window may be trimmed in a round trip without a reduction.
constexpr uint64_t kFewTrimmed = 8;

RecoveryStep step_after(LossCause cause) {
  if (cause == LossCause::kTrimmed) return RecoveryStep::kTrimRepeat;
  return cause == LossCause::kGap ? RecoveryStep::kGapRepeat : RecoveryStep::kTimeoutRepeat;
}

}  // namespace

bool Flight::on_ack(Nanos now, Nanos made_at, const AckFrame& frame) {
  if (frame.path >= paths_.size() ||
      frame.ranges[0].high >= paths_[frame.path].sent.next_number()) {
    return false;
  }
  TxPath& path = paths_[frame.path];
  current_path_ = frame.path;
  advance_phase(now);
  const Bytes before{in_flight_bytes_};
  const uint64_t held_before = held();
  const uint64_t acked_to = path.sent.largest_acked();
  const AckOutcome outcome = path.sent.acknowledge(pool_, now, frame, *this);
  if (!outcome.any) return true;
  forget_old_loss(path, acked_to);
  measure(now, made_at, frame, outcome);
  quota_.on_acked(now, outcome.newest_sent_at, held_before - held(), round_trip_.minimum());
  path.probes_unanswered = 0;
  if (!path.active()) bring_back(now, frame.path);
  const bool more = path.sent.in_flight_segments() > 0 || path.sent.remembers_lost();
  path.probe_at = more ? CoarseTime(now + patience(path, seconds(1))) : CoarseTime();
  wake_by(path.probe_at.near(now));
  if (outcome.newest_sent_at > newest_acked_sent_at_) {
    newest_acked_sent_at_ = outcome.newest_sent_at;
    newest_acked_path_ = frame.path;
  }
  tell_controller(now, frame, outcome, before);
  if (outcome.spurious_segments > 0) handle_spurious(now, frame.path, outcome);
  find_losses(now, frame.path, outcome.newest_sent_at);
  forget_losses(now, frame.path);
  path.window.relax(now);
  refresh_usable(frame.path);
  selector_->on_ack(frame.path, sample_of(frame.path), {outcome.acked_bytes});
  observer_.emit(events::AckReceived{now, connection_, frame.path, outcome.acked_bytes,
                                     path.trip.latest(), in_flight_bytes_});
  return true;
}

void Flight::after_acks(Nanos now) {
  set_aside_silent_paths(now);
  if (in_flight_segments_ > 0) look_for_late_by(now + lateness());
}

Nanos Flight::phase_length() const {
  return std::max(kPhaseTrips * round_trip_.smoothed(), micros(20));
}

void Flight::advance_phase(Nanos now) {
  if (now < phase_until_) return;
  const Nanos length = phase_length();
  const int64_t passed = std::min((now - phase_until_) / length, kMostPhases - 1) + 1;
  phase_ = static_cast<uint8_t>(phase_ + passed);
  phase_until_ = now + length;
}

// Half of them are forgotten with each phase in which nothing was lost.
uint32_t Flight::recent_losses(const TxPath& path) const {
  return path.recent_losses >> std::min<uint32_t>(age(path), 7);
}

void Flight::forget_old_loss(TxPath& path, uint64_t acked_to) {
  const bool forget = path.sent.largest_acked() / TxPath::kLossForgottenAfter !=
                      acked_to / TxPath::kLossForgottenAfter;
  if (forget && path.recent_losses > 0) --path.recent_losses;
}

// A round trip is measured only where the acknowledgement is of the newest packet that the peer
// has: that is the one whose arrival time it tells. What was told before, in an acknowledgement
// that was lost, would measure how long that went unnoticed.
void Flight::measure(Nanos now, Nanos made_at, const AckFrame& frame, const AckOutcome& outcome) {
  if (outcome.newest_number != frame.ranges[0].high) return;
  TxPath& path = paths_[frame.path];
  path.recent_losses = static_cast<uint8_t>(recent_losses(path)) & TxPath::kMostRecentLosses;
  const bool aged = age(path) >= kStaleAge;
  path.judged_in = phase_;
  if (frame.received_at == kToldBefore) return;
  const Nanos total = now - outcome.newest_sent_at;
  const Nanos held = std::clamp(saturating_difference(made_at, frame.received_at), Nanos{}, total);
  // What it was like when it was last tried does not bear on what it is like now that it is fast.
  const bool fast = total - held < path.trip.smoothed() / 2;
  if (fast && aged) path.trip = {};
  path.trip.add(total - held);
  round_trip_.add(now, total - held, held, std::max(active_, 1u));
}

void Flight::tell_controller(Nanos now, const AckFrame& frame, const AckOutcome& outcome,
                             Bytes before) {
  TxPath& path = paths_[frame.path];
  const auto marks = static_cast<uint16_t>(frame.marked - path.marked_seen);
  path.marked_seen = static_cast<uint16_t>(frame.marked);
  path.marked = marks != 0;
  marks_ += marks;
  if (path.marked) note_trouble(now, frame.path);
  if (outcome.acked_bytes == 0) return;
  AckSample sample;
  sample.sent_at = outcome.newest_sent_at;
  sample.acked = {outcome.acked_bytes};
  sample.marked = {std::min(outcome.acked_bytes, uint64_t{marks} * packet_bytes(frame.path))};
  sample.rtt = path.trip.latest();
  sample.min_rtt = round_trip_.minimum();
  sample.smoothed_rtt = round_trip_.smoothed();
  sample.in_flight = before;
  sample.active_paths = active_;
  sample.others_clean = others_clean(now, frame.path);
  sample.window_limited = window_limited_;
  noise_.on_ack(sample.sent_at, sample.acked, sample.rtt);
  controller_->on_ack(now, sample);
  if (observer_.wants(events::EventKind::kWindowChanged)) {
    observer_.emit(events::WindowChanged{now, connection_, controller_->window().count,
                                         controller_->pacing_rate().count});
  }
}

void Flight::handle_spurious(Nanos now, uint16_t id, const AckOutcome& outcome) {
  TxPath& path = paths_[id];
  spurious_segments_ += outcome.spurious_segments;
  const Nanos late = now - outcome.spurious_sent_at - round_trip_.minimum();
  const Nanos limit = std::max(path.trip.smoothed(), millis(1));
  path.window.widen(now, outcome.spurious_behind, std::clamp(late, Nanos{}, limit), limit);
  // One needless repeat among real losses does not take their reduction back.
  episode_spurious_ += outcome.spurious_segments;
  if (episode_spurious_ >= episode_lost_) controller_->on_spurious_loss(now);
  observer_.step(now, connection_, id, RecoveryStep::kSpuriousRepeat);
  observer_.step(now, connection_, id, RecoveryStep::kWindowWidened);
}

// `acked_sent_at`: see SentList::Patience.
void Flight::find_losses(Nanos now, uint16_t id, Nanos acked_sent_at) {
  TxPath& path = paths_[id];
  const Nanos stale = std::max(2 * path.window.time(), path.trip.smoothed() / 2 + micros(100));
  current_path_ = id;
  path.loss_check_at =
      CoarseTime(path.sent.detect(pool_, now, {path.window, stale, acked_sent_at}, *this));
  wake_by(path.loss_check_at.near(now));
  take_losses(now, id, LossCause::kGap);
}

// It crossed the path, so the path is not in doubt; only its queue is.
bool Flight::on_trimmed(Nanos now, uint16_t id, uint64_t number) {
  if (id >= datagram_paths_ || number == 0 || number >= paths_[id].sent.next_number()) return false;
  current_path_ = id;
  advance_phase(now);
  paths_[id].sent.give_up_one(pool_, number, LossCause::kTrimmed, *this);
  take_losses(now, id, LossCause::kTrimmed);
  return true;
}

// Queues of a fabric that is shared evenly overflow here and there, and the repeat takes another
// path. Only what a whole round trip is short of room for, its end is: the window answers that.
bool Flight::few_trimmed(Nanos now, Bytes trimmed) {
  if (now >= trimmed_until_) {
    trimmed_until_ = now + round_trip_.smoothed();
    trimmed_ = {};
  }
  trimmed_ = trimmed_ + trimmed;
  return trimmed_.count <= controller_->window().count / kFewTrimmed;
}

// What on_lost collected becomes one sample.
void Flight::take_losses(Nanos now, uint16_t id, LossCause cause) {
  if (lost_segments_ == 0) return;
  TxPath& path = paths_[id];
  path.segments_lost += lost_segments_;
  const uint32_t recent = recent_losses(path) + 1;
  path.recent_losses = std::min(recent, TxPath::kMostRecentLosses) & TxPath::kMostRecentLosses;
  path.judged_in = phase_;
  observer_.step(now, connection_, id, step_after(cause));
  if (lost_sent_at_ > episode_began_) {
    episode_began_ = now;
    episode_lost_ = episode_spurious_ = 0;
  }
  episode_lost_ += lost_segments_;
  if (lost_bytes_ > 0) {
    LossSample sample;
    sample.sent_at = lost_sent_at_;
    sample.lost = {lost_bytes_};
    sample.in_flight = {in_flight_bytes_};
    sample.smoothed_rtt = round_trip_.smoothed();
    sample.active_paths = std::max(active_, 1u);
    sample.others_clean = others_clean(now, id);
    sample.timeout = cause == LossCause::kTimeout;
    sample.path_failure = cause == LossCause::kPathFailure;
    const bool noise = cause == LossCause::kTrimmed
                           ? few_trimmed(now, sample.lost)
                           : cause == LossCause::kGap &&
                                 noise_.is_noise(sample.sent_at, sample.lost, path.trip.latest(),
                                                 round_trip_.minimum());
    if (!noise) {
      const Bytes window = controller_->window();
      controller_->on_loss(now, sample);
      if (controller_->window() < window) {
        noise_.on_reduced(now, round_trip_.smoothed(), window.count / largest_datagram_);
      }
      note_trouble(now, id);
    } else if (cause == LossCause::kGap && noise_.take_needless(sample.sent_at)) {
      controller_->on_spurious_loss(now);
    }
  }
  lost_bytes_ = lost_segments_ = 0;
  lost_sent_at_ = {};
  refresh_usable(id);
}

// What was lost so long ago does not arrive any more. Its records are the endpoint's, so this must
// not wait for an acknowledgement: without records nothing leaves that could be acknowledged.
void Flight::forget_losses(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  path.sent.forget_lost(pool_, now - std::max(8 * path.trip.smoothed(), millis(50)));
}

void Flight::on_acked(const SentRun& run, uint32_t first, uint32_t count, bool was_lost) {
  if (!was_lost) {
    in_flight_bytes_ -= run.bytes(first, count);
    in_flight_segments_ -= count;
  }
  if (run.sizes_path) size_passed(current_path_);
  rows_.on_acked(run.count);
  if (is_large(run)) paths_[current_path_].large_losses = 0;
  listener_.on_acked(run, first, count, was_lost);
}

void Flight::on_lost(const SentRun& run, uint32_t first, uint32_t count, LossCause cause) {
  const uint64_t bytes = run.bytes(first, count);
  in_flight_bytes_ -= bytes;
  in_flight_segments_ -= count;
  lost_bytes_ += bytes;
  lost_segments_ += run.sizes_path ? 0 : count;
  lost_sent_at_ = std::max(lost_sent_at_, run.sent_at);
  observer_.emit(events::BurstLost{run.sent_at, connection_, current_path_,
                                   run.first_number + first, static_cast<uint16_t>(count), cause});
  if (run.sizes_path && cause == LossCause::kGap) size_failed(current_path_);
  if (run.sizes_path && cause != LossCause::kGap) {
    paths_[current_path_].sizes = false;  // says nothing of the size: try again
    --size_probes_out_;
  }
  if (is_large(run) && cause == LossCause::kGap) large_lost(run);
  if (run.count > 1 && count == run.count && rows_.on_row_lost(run.sent_at, newest_sent_at_)) {
    observer_.step(newest_sent_at_, connection_, current_path_, RecoveryStep::kSegmentsApart);
  }
  listener_.on_lost(run, first, count, cause);
}

void Flight::note_trouble(Nanos now, uint16_t path) {
  if (path != trouble_path_) {
    other_trouble_at_ = trouble_at_;
    trouble_path_ = path;
  }
  trouble_at_ = now;
}

bool Flight::others_clean(Nanos now, uint16_t path) const {
  const Nanos latest = path == trouble_path_ ? other_trouble_at_ : trouble_at_;
  return active_ > 1 && (latest.count == 0 || now - latest > round_trip_.smoothed());
}

}  // namespace heddle::transport
