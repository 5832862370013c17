// Passes events between the parts of the send controller, in the order that the protocol needs.
#include "transport/send/send_controller.h"

#include <algorithm>
#include <utility>

#include "transport/recovery/pto.h"

namespace heddle::transport {

using events::LossCause;
using events::PathState;
using events::RecoveryStep;

namespace {

RecoveryStep step_after(LossCause cause) {
  if (cause == LossCause::kTrimmed) return RecoveryStep::kTrimRetransmit;
  return cause == LossCause::kGap ? RecoveryStep::kGapRetransmit : RecoveryStep::kTimeoutRetransmit;
}

bool exceeds_base_size(const SentBurst& run) {
  const DataRecord& data = run.record;
  return run.data && !data.claimed && run.header_bytes + data.step > params::kBaseDatagram;
}

}  // namespace

void SendController::open(Nanos now, SendOptions options) {
  window_.open(std::move(options.controller), options.largest_datagram, options.peer_window_bytes);
  pmtu_.open(options.largest_datagram);
  CHECK(uint32_t{options.paths} + options.strategy_paths.count <= PathShare::kMostPaths);
  paths_.open(options.paths, options.strategy_paths);
  const bool measured = options.first_rtt.count > 0;
  if (measured) paths_.round_trip().add(now, options.first_rtt);
  control_.open(measured);
  scheduler_.open(now, std::move(options.selector), options.longest_burst);
  const uint32_t passed = std::max(options.passed_datagram, params::kBaseDatagram);
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    pmtu_.open_path(paths_[id].mtu, passed, paths_.is_datagram_path(id));
    if (measured) paths_[id].trip.add(options.first_rtt);
  }
}

void SendController::close() {
  for (TxPath& path : paths_) path.sent.clear(pool_);
  paths_.clear();
  scheduler_.close();
  window_.close();
  liveness_.close();
  wake_.clear();
  probes_.clear();
}

// ------------------------------------------------------------------------------------- sending

bool SendController::poll_quota(Nanos now, Random& random, SendQuota& quota) {
  if (!any_active()) return false;
  const uint64_t budget = window_.burst_quota(now, wake_);
  if (budget == 0) return false;
  if (!scheduler_.any_usable()) {
    window_.set_limited(true);
    return false;
  }
  const Controller& controller = window_.controller();
  const bool fixed = control_.is_fixed() && scheduler_.is_usable(control_.current());
  const uint16_t id =
      fixed ? scheduler_.begin_burst(control_.current(), controller)
            : scheduler_.choose(now, random, {controller, window_.in_flight_bytes()}, probes_);
  const uint64_t size = paths_.packet_bytes(id);
  const bool datagrams = paths_.is_datagram_path(id);
  uint32_t segments = 0;
  if (!datagrams) {
    segments = window_.left() >= size || window_.in_flight_bytes() == 0 ? 1 : 0;
  } else {
    // The cap may have shrunk since the path was found to be below it.
    const uint64_t in_flight = paths_[id].sent.in_flight_bytes();
    const uint64_t cap = std::max(scheduler_.path_cap(controller), in_flight + size);
    const uint64_t most = std::min<uint64_t>(
        {budget, cap - in_flight, std::max<uint64_t>(scheduler_.burst_left(), size)});
    segments = window_.segments_within(now, most, size, wake_);
  }
  if (segments == 0) {
    window_.set_limited(true);
    return false;
  }
  quota = {id, static_cast<uint32_t>(size), segments, window_.ends_with(segments, size, datagrams)};
  return true;
}

bool SendController::poll_datagram_quota(Nanos now, SendQuota& quota) {
  const uint64_t budget = window_.burst_quota(now, wake_);
  if (budget == 0) return false;
  const uint16_t id = control_path();
  if (!paths_[id].active()) return false;
  const uint32_t size = paths_[id].mtu.confirmed();
  const uint32_t segments = window_.segments_within(now, budget, size, wake_);
  if (segments == 0) {
    window_.set_limited(true);
    return false;
  }
  quota = {id, size, segments, true};
  return true;
}

SentBurst* SendController::record(uint16_t id, uint8_t segments) {
  recording_ = pool_.lend();
  if (recording_ == kNoIndex) {  // records of lost packets give way
    for (TxPath& path : paths_) path.sent.forget_lost(pool_, Nanos::never());
    recording_ = pool_.lend();
  }
  if (recording_ == kNoIndex) return nullptr;
  SentBurst& run = pool_[recording_];
  run = SentBurst{};
  run.first_number = paths_[id].sent.next_number();
  run.count = segments;
  return &run;
}

void SendController::sent(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  SentBurst& run = pool_[recording_];
  run.sent_at = now;
  path.sent.append(pool_, recording_);
  newest_sent_at_ = now;
  if (run.asks) liveness_.on_ack_requested(now, id, wake_);
  if (run.hop_limit != 0) {
    if (path.probe_at.near(now) == Nanos::never()) LossDetector::forget_later(now, path, wake_);
    return;
  }
  const uint64_t bytes = run.bytes(0, run.count);
  window_.on_sent(now, bytes, run.count, run.probe_bytes());
  if (path.active()) arm_pto(now, path, run);
  if (run.sizes_path) pmtu_.on_probe_sent(path.mtu);
  if (!run.data) return;
  path.payload_bytes_sent += bytes - uint64_t{run.count} * run.header_bytes;
  window_.on_payload_sent(now, bytes, run.count, run.asks);
  scheduler_.on_sent(id, bytes, window_.controller());
}

void SendController::arm_pto(Nanos now, TxPath& path, const SentBurst& run) {
  Nanos probe_at = now + probe_timeout(paths_.round_trip(), path, params::kLongestPto);
  // A probe of packets in flight does not defer the PTO that is due for them.
  const bool only_probes = !run.data && run.control_count == 0;
  if (only_probes && path.sent.in_flight_segments() > run.count) {
    probe_at = std::min(probe_at, path.probe_at.near(now));
  }
  path.probe_at = CoarseTime(probe_at);
  wake_.by(path.probe_at.near(now));
}

// ----------------------------------------------------------------------------- acknowledgements

bool SendController::on_ack(Nanos now, Nanos made_at, const AckFrame& frame) {
  const uint16_t id = frame.path;
  if (id >= paths_.size() || frame.ranges[0].high >= paths_[id].sent.next_number()) return false;
  TxPath& path = paths_[id];
  current_path_ = id;
  scheduler_.advance_age(now);
  const Bytes before{window_.in_flight_bytes()};
  const uint64_t held_before = window_.held();
  const uint64_t acked_from = path.sent.largest_acked();
  const AckOutcome outcome = path.sent.acknowledge(pool_, now, frame, *this);
  if (!outcome.any) return true;
  scheduler_.forget_losses(id, acked_from);
  measure(now, made_at, frame, outcome);
  window_.on_acked(now, outcome.newest_sent_at, held_before, paths_.round_trip().minimum());
  // Where a NIC fails a packet just before its acknowledgement, it fails the next one, too.
  const bool answers = path.active() || outcome.in_time || paths_.is_datagram_path(id);
  if (answers) {
    path.health.answered();
    if (!path.active()) on_path_event(now, id, PathEvent::kAcked);
    const bool more = path.sent.in_flight_segments() > 0 || path.sent.remembers_lost();
    path.probe_at =
        more ? CoarseTime(now + probe_timeout(paths_.round_trip(), path, params::kLongestPto))
             : CoarseTime();
  }
  wake_.by(path.probe_at.near(now));
  liveness_.on_acked(id, outcome.newest_sent_at);
  feed_controller(now, frame, outcome, before);
  if (outcome.spurious_segments > 0) handle_spurious(now, id, outcome);
  find_losses(now, id, outcome.newest_sent_at);
  LossDetector::forget(pool_, now, path);
  path.window.relax(now);
  scheduler_.refresh(id, window_.controller());
  scheduler_.on_acked(id, outcome.acked_bytes);
  observer_.emit(events::AckReceived{now, connection_, id, outcome.acked_bytes, path.trip.latest(),
                                     window_.in_flight_bytes()});
  return true;
}

// A round trip is measured only where the newest acknowledged packet is the newest that the peer
// has: the frame's arrival time is of that packet. A repeated arrival time (its first
// acknowledgement was lost) would measure for how long the loss went unnoticed.
void SendController::measure(Nanos now, Nanos made_at, const AckFrame& frame,
                             const AckOutcome& outcome) {
  if (outcome.newest_number != frame.ranges[0].high) return;
  TxPath& path = paths_[frame.path];
  const bool was_stale = scheduler_.note_sample(frame.path);
  if (frame.received_at == kReportedBefore) return;
  const Nanos total = now - outcome.newest_sent_at;
  const Nanos held = std::clamp(saturating_difference(made_at, frame.received_at), Nanos{}, total);
  // A path whose last, stale sample was slow begins anew.
  const bool fast = total - held < path.trip.smoothed() / 2;
  if (fast && was_stale) path.trip = {};
  path.trip.add(total - held);
  paths_.round_trip().add(now, total - held, held, std::max(active(), 1u));
}

void SendController::feed_controller(Nanos now, const AckFrame& frame, const AckOutcome& outcome,
                                     Bytes before) {
  TxPath& path = paths_[frame.path];
  const auto marks = static_cast<uint16_t>(frame.marked - path.marks_seen);
  path.marks_seen = static_cast<uint16_t>(frame.marked);
  path.share.set_marked(marks != 0);
  feedback_.on_marks(now, frame.path, marks);
  if (outcome.acked_bytes == 0) return;
  AckSample sample;
  sample.sent_at = outcome.newest_sent_at;
  sample.acked = {outcome.acked_bytes};
  sample.marked = {
      std::min(outcome.acked_bytes, uint64_t{marks} * paths_.packet_bytes(frame.path))};
  sample.rtt = path.trip.latest();
  sample.min_rtt = paths_.round_trip().minimum();
  sample.smoothed_rtt = paths_.round_trip().smoothed();
  sample.in_flight = before;
  sample.active_paths = active();
  sample.window_limited = window_.limited();
  Controller& controller = window_.controller();
  feedback_.on_ack(now, frame.path, controller, sample);
  if (observer_.wants(events::EventKind::kWindowChanged)) {
    observer_.emit(events::WindowChanged{now, connection_, controller.window().count,
                                         controller.pacing_rate().count});
  }
}

void SendController::handle_spurious(Nanos now, uint16_t id, const AckOutcome& outcome) {
  losses_.on_spurious(now, paths_[id], outcome, paths_.round_trip().minimum());
  feedback_.on_spurious(now, outcome.spurious_segments, window_.controller());
  observer_.step(now, connection_, id, RecoveryStep::kSpuriousRetransmit);
  observer_.step(now, connection_, id, RecoveryStep::kWindowWidened);
}

void SendController::after_acks(Nanos now) {
  if (active() > 1 && liveness_.take_silence_check(now)) {
    for (uint16_t id = 0; id < paths_.size() && active() > 1; ++id) {
      const PathEvent event = liveness_.judge(pool_, now, id, PathCheck::kAfterAcks).event;
      if (event != PathEvent::kNone) on_path_event(now, id, event);
    }
  }
  if (awaits_ack()) {
    liveness_.check_tail_loss_by(now + tail_loss_delay(paths_.round_trip()), wake_);
  }
}

// --------------------------------------------------------------------------------- path states

// Carries out what the state machine asks for (path_state.h).
void SendController::on_path_event(Nanos now, uint16_t id, PathEvent event) {
  TxPath& path = paths_[id];
  const PathState from = path.health.state();
  const PathTransition then = transition_of(from, event);
  if (then.loss) declare_lost(now, id, *then.loss);
  if (then.to != from) enter_state(now, id, then.to);
  // A path on which each packet fails has a new epoch after each: it is left to its timer, which
  // backs off, where others work or some probes went unanswered.
  const bool in_vain = path.health.unanswered_probes() >= params::kTailProbes;
  const bool new_again = event == PathEvent::kNewEpoch && from != PathState::kActive;
  const bool later =
      new_again ? any_active() || in_vain : event == PathEvent::kSendFailed && in_vain;
  if (then.probe && !later) probes_.push(paths_, id);
  if (later) {
    path.probe_at =
        CoarseTime(std::min(path.probe_at.near(now), now + params::kLongestProbeInterval));
    wake_.by(path.probe_at.near(now));
  }
  if (from != PathState::kActive || then.to != PathState::kSuspect) return;
  observer_.step(now, connection_, id, RecoveryStep::kPathSetAside);
  // The cause may affect other paths, too: those without a sample from now on are probed before
  // they carry more payload.
  scheduler_.expire_samples();
  path.probe_at =
      CoarseTime(now + probe_timeout(paths_.round_trip(), path, params::kLongestProbeInterval));
  path.loss_check_at = {};
  wake_.by(path.probe_at.near(now));
  // It may pass small datagrams only.
  if (then.loss == LossCause::kTimeout && paths_.is_datagram_path(id)) pmtu_.restart(path.mtu);
}

void SendController::enter_state(Nanos now, uint16_t id, PathState state) {
  scheduler_.enter(id, state);
  liveness_.note_change();
  observer_.emit(events::PathChanged{now, connection_, id, state});
  scheduler_.refresh(id, window_.controller());
  if (scheduler_.restricted()) report_restriction(now);
  if (state == PathState::kActive) {
    observer_.step(now, connection_, id, RecoveryStep::kPathReturned);
  }
}

void SendController::report_restriction(Nanos now) {
  const auto step = scheduler_.update_restriction(window_.controller());
  if (step) observer_.step(now, connection_, UINT16_MAX, *step);
}

bool SendController::choose(Nanos now, std::span<const uint16_t> chosen) {
  if (!scheduler_.restrict_to(chosen, window_.controller())) return false;
  report_restriction(now);
  end_burst();
  return true;
}

// What size it passes now is not known; if it was suspect, it may work there.
void SendController::on_moved(uint16_t id) {
  pmtu_.restart(paths_[id].mtu);
  on_path_event(newest_sent_at_, id, PathEvent::kMoved);
}

bool SendController::on_send_failed(Nanos now, uint16_t id, uint64_t number, uint32_t in_vain) {
  if (id >= paths_.size() || number >= paths_[id].sent.next_number()) return false;
  PathHealth& health = paths_[id].health;
  if (health.active()) health.count_unanswered(in_vain);
  on_path_event(now, id, PathEvent::kSendFailed);
  return true;
}

// Packets in flight of the old epoch will not arrive.
bool SendController::on_new_epoch(Nanos now, uint16_t id, PathEpoch epoch) {
  TxPath& path = paths_[id];
  const std::optional<int16_t> later = path.epoch.steps_to(epoch);
  if (!later) return false;
  if (*later <= 0) return true;
  path.epoch = epoch;
  on_path_event(now, id, PathEvent::kNewEpoch);
  // Nothing is in flight there that could be acknowledged. Where its numbers are too far ahead for
  // another packet, only a probe brings an acknowledgement.
  if (path.active() && !scheduler_.is_usable(id)) probes_.push(paths_, id);
  return true;
}

void SendController::handle_timeout(Nanos now) {
  if (now < wake_.at()) return;
  wake_.clear();
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    TxPath& path = paths_[id];
    if (path.probe_at.due(now) || path.loss_check_at.due(now)) check_path_timer(now, id);
    wake_.by(std::min(path.probe_at.near(now), path.loss_check_at.near(now)));
  }
  if (now >= liveness_.tail_loss_check_at()) check_tail_loss(now);
  wake_.by(liveness_.tail_loss_check_at());
}

void SendController::check_path_timer(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  if (path.loss_check_at.due(now)) find_losses(now, id, {});
  if (!path.probe_at.due(now)) return;
  const PathEvent event = liveness_.judge(pool_, now, id, PathCheck::kPto).event;
  if (event == PathEvent::kNone) {
    LossDetector::forget(pool_, now, path);
    path.probe_at = {};
    if (path.sent.remembers_lost()) LossDetector::forget_later(now, path, wake_);
    return;
  }
  if (event == PathEvent::kTailTimeout) {
    observer_.step(now, connection_, id, RecoveryStep::kTailProbe);
    // Where nothing else is sent, only another path's answer to a later packet can show that this
    // path is silent.
    uint16_t witness = 0;
    if (active() > 1 && liveness_.find_witness(id, witness)) probes_.push(paths_, witness);
  }
  on_path_event(now, id, event);
  if (event == PathEvent::kProbesExhausted) return;
  path.health.count_unanswered();
  LossDetector::forget(pool_, now, path);
  // A suspect path among active ones is no evidence about the peer.
  if (path.active() || !any_active()) note_probe(now);
  const Nanos longest = path.active() ? params::kLongestPto : params::kLongestProbeInterval;
  path.probe_at = CoarseTime(now + probe_timeout(paths_.round_trip(), path, longest));
}

// The answer to a probe shows what is missing, long before a PTO would.
void SendController::check_tail_loss(Nanos now) {
  liveness_.begin_tail_loss_check();
  if (!paths_.round_trip().measured()) return;
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    if (paths_[id].sent.in_flight_segments() == 0) continue;
    const PathJudgement judgement = liveness_.judge(pool_, now, id, PathCheck::kTailLoss);
    if (judgement.event != PathEvent::kNone) {
      if (!ProbeQueue::contains(paths_, id)) {
        observer_.step(now, connection_, id, RecoveryStep::kTailProbe);
      }
      on_path_event(now, id, judgement.event);
    }
    liveness_.check_tail_loss_by(judgement.again, wake_);
  }
}

// ------------------------------------------------------------------------------------- losses

void SendController::find_losses(Nanos now, uint16_t id, Nanos acked_sent_at) {
  current_path_ = id;
  LossDetector::detect(pool_, now, paths_[id], acked_sent_at, *this);
  wake_.by(paths_[id].loss_check_at.near(now));
  take_losses(now, id, LossCause::kGap);
}

// The header crossed the path, so only the path's queue is in doubt.
bool SendController::on_trimmed(Nanos now, uint16_t id, uint64_t number) {
  if (id >= datagram_paths() || number == 0 || number >= paths_[id].sent.next_number()) {
    return false;
  }
  current_path_ = id;
  scheduler_.advance_age(now);
  paths_[id].sent.declare_one_lost(pool_, number, LossCause::kTrimmed, *this);
  take_losses(now, id, LossCause::kTrimmed);
  return true;
}

// All that is in flight on the path.
void SendController::declare_lost(Nanos now, uint16_t id, LossCause cause) {
  current_path_ = id;
  paths_[id].sent.declare_lost(pool_, cause, *this);
  take_losses(now, id, cause);
}

// Losses that were declared together become one sample.
void SendController::take_losses(Nanos now, uint16_t id, LossCause cause) {
  if (lost_.segments == 0) return;
  TxPath& path = paths_[id];
  path.segments_lost += lost_.segments;
  scheduler_.note_loss(id);
  observer_.step(now, connection_, id, step_after(cause));
  const RoundTrip& all = paths_.round_trip();
  LossSample sample;
  sample.sent_at = lost_.sent_at;
  sample.lost = {lost_.bytes};
  sample.in_flight = {window_.in_flight_bytes()};
  sample.smoothed_rtt = all.smoothed();
  sample.active_paths = std::max(active(), 1u);
  PathLoss loss{id, cause, path.trip.latest(), all.minimum()};
  loss.segments = lost_.segments;
  loss.segment_bytes = pmtu_.largest();
  lost_ = {};
  feedback_.on_loss(now, loss, window_.controller(), sample);
  scheduler_.refresh(id, window_.controller());
}

void SendController::on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) {
  PathMtu& mtu = paths_[current_path_].mtu;
  if (!was_lost) window_.on_left_flight(run.bytes(first, count), count, run.probe_bytes());
  if (run.sizes_path) report_size(newest_sent_at_, current_path_, pmtu_.on_probe_acked(mtu));
  window_.segmentation().on_acked(run.count);
  if (exceeds_base_size(run)) PmtuProber::on_large_acked(mtu);
  listener_.on_acked(run, first, count, was_lost);
}

void SendController::on_lost(const SentBurst& run, uint32_t first, uint32_t count,
                             LossCause cause) {
  TxPath& path = paths_[current_path_];
  const uint64_t bytes = run.bytes(first, count);
  window_.on_left_flight(bytes, count, run.probe_bytes());
  lost_.add(run, bytes, count);
  observer_.emit(events::BurstLost{run.sent_at, connection_, current_path_,
                                   run.first_number + first, static_cast<uint16_t>(count), cause});
  if (run.sizes_path) {
    report_size(newest_sent_at_, current_path_, pmtu_.on_probe_lost(path.mtu, cause));
  }
  if (exceeds_base_size(run) && cause == LossCause::kGap) {
    report_size(newest_sent_at_, current_path_,
                pmtu_.on_large_lost(path.mtu, run.first_number, path.sent.next_number()));
  }
  if (run.count > 1 && count == run.count &&
      window_.segmentation().on_burst_lost(run.sent_at, newest_sent_at_)) {
    observer_.step(newest_sent_at_, connection_, current_path_, RecoveryStep::kSegmentsApart);
  }
  listener_.on_lost(run, first, count, cause);
}

// -------------------------------------------------------------------------- sizes and statistics

void SendController::report_size(Nanos now, uint16_t id, const std::optional<SizeChange>& change) {
  if (!change) return;
  if (change->refused != 0) observer_.step(now, connection_, id, RecoveryStep::kSizeLowered);
  observer_.emit(events::PathSized{now, connection_, id, change->confirmed, change->refused});
}

void SendController::on_too_large(Nanos now, uint16_t id, uint32_t datagram_bytes) {
  if (id >= datagram_paths()) return;
  report_size(now, id, pmtu_.on_too_large(paths_[id].mtu, datagram_bytes));
}

}  // namespace heddle::transport
