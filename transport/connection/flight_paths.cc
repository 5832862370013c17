// The paths' states: tail probes and timeouts, setting a silent path aside, its return, and finding
// out which datagrams a path passes.
#include <algorithm>
#include <array>

#include "transport/connection/flight.h"
#include "transport/recovery/ack_maker.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::PathState;
using events::RecoveryStep;

// Probes of an active path that may go unanswered before it is set aside.
constexpr uint8_t kTailProbes = 2;
// Unanswered ones are counted up to here; patience no longer grows then.
constexpr uint8_t kMostUnanswered = 15;
// A path that is set aside is asked at least this often.
constexpr Nanos kLongestPatience = millis(250);
// A path is silent when its oldest segment left so long before one that another path delivered.
constexpr Nanos kLeastSilence = millis(3);
constexpr Nanos kSilenceCheckEvery = micros(500);
// What a busy host adds to a round trip now and then.
constexpr Nanos kLateSlack = micros(150);
// An active path with nothing under way looks so often whether it may forget what was lost.
constexpr Nanos kForgetEvery = millis(50);
// Round trips in which a path lost every large datagram before it is taken to pass small ones only.
constexpr uint8_t kLargeLosses = 3;
// Probes of one size that are lost before a smaller one is tried.
constexpr uint8_t kSizeProbes = 3;
// UDP payloads of the MTUs that are met: 9,000 and 4,096 less IPv6's headers, 1,500 for IPv4, IPv6
// and tunnels.
constexpr std::array<uint32_t, 6> kUsualSizes = {8952, 4048, 1472,
                                                 1452, 1400, Flight::kBaseDatagram};

}  // namespace

void Flight::set_state(Nanos now, uint16_t id, PathState state) {
  TxPath& path = paths_[id];
  if (path.state == state) return;
  if (path.active() && carries(id)) --active_;
  if (state == PathState::kActive && carries(id)) ++active_;
  path.state = state;
  paths_changed_ = true;
  ++path_changes_;
  observer_.emit(events::PathChanged{now, connection_, id, state});
  refresh_usable(id);
  if (chosen_) settle_choice(now);
}

void Flight::set_aside(Nanos now, uint16_t id, LossCause cause) {
  TxPath& path = paths_[id];
  current_path_ = id;
  path.sent.give_up(pool_, cause, *this);
  take_losses(now, id, cause);
  set_state(now, id, PathState::kSuspect);
  observer_.step(now, connection_, id, RecoveryStep::kPathSetAside);
  // What killed it may have killed others: those that nothing is heard of from now on are asked
  // before they carry more.
  phase_ = static_cast<uint8_t>(phase_ + kStaleAge);
  want_probe(id);
  path.probe_at = CoarseTime(now + patience(path, kLongestPatience));
  path.loss_check_at = {};
  wake_by(path.probe_at.near(now));
  if (cause == LossCause::kTimeout && !places(id)) find_size_again(id);
}

// Perhaps it passes small datagrams only, by now.
void Flight::find_size_again(uint16_t id) {
  TxPath& path = paths_[id];
  if (path.datagram_bytes <= kBaseDatagram) return;
  if (path.wanted_bytes == 0) ++unsized_;
  path.wanted_bytes = path.datagram_bytes;
  path.datagram_bytes = kBaseDatagram;
  path.large_losses = 0;
}

// What it passes there is not known; where it was set aside, it may work there.
void Flight::on_moved(uint16_t id) {
  find_size_again(id);
  if (!paths_[id].active()) want_probe(id);
}

bool Flight::is_large(const SentRun& run) {
  return run.data && !run.row.chunk && run.header_bytes + run.row.step > kBaseDatagram;
}

// Small packets arrive, or this would not be a gap. Where no large one does, the path's limit has
// shrunk on its way (RFC 8899 section 4.3).
void Flight::large_lost(const SentRun& run) {
  TxPath& path = paths_[current_path_];
  const PacketNumberLow number(static_cast<uint32_t>(run.first_number));
  const bool same_round_trip = path.large_lost_below.steps_to(number).value_or(0) < 0;
  if (same_round_trip || path.datagram_bytes <= kBaseDatagram) return;
  path.large_lost_below = static_cast<uint32_t>(path.sent.next_number());
  if (++path.large_losses < kLargeLosses) return;
  const uint32_t failed = path.datagram_bytes;
  find_size_again(current_path_);
  observer_.step(newest_sent_at_, connection_, current_path_, RecoveryStep::kSizeLowered);
  observer_.emit(
      events::PathSized{newest_sent_at_, connection_, current_path_, path.datagram_bytes, failed});
}

bool Flight::on_write_failed(Nanos now, uint16_t id, uint64_t number) {
  if (id >= paths_.size() || number >= paths_[id].sent.next_number()) return false;
  if (paths_[id].active()) set_aside(now, id, LossCause::kPathFailure);
  return true;
}

bool Flight::on_fenced(Nanos now, uint16_t id, PathEpoch epoch) {
  TxPath& path = paths_[id];
  const std::optional<int16_t> later = path.epoch.steps_to(epoch);
  if (!later) return false;
  if (*later <= 0) return true;
  path.epoch = epoch;
  // What is under way in the old epoch will not land.
  current_path_ = id;
  path.sent.give_up(pool_, LossCause::kPathFailure, *this);
  take_losses(now, id, LossCause::kPathFailure);
  if (!path.active()) want_probe(id);
  return true;
}

void Flight::bring_back(Nanos now, uint16_t id) {
  set_state(now, id, PathState::kActive);
  observer_.step(now, connection_, id, RecoveryStep::kPathReturned);
}

void Flight::set_aside_silent_paths(Nanos now) {
  if (active_ <= 1 || now < silence_check_at_) return;
  silence_check_at_ = now + kSilenceCheckEvery;
  // Queues of several links differ: what one path's acknowledgements outrun on another is told by
  // how much round trips vary over all of them.
  const Nanos longest = round_trip_.smoothed() + 4 * round_trip_.variation();
  for (uint16_t id = 0; id < paths_.size() && active_ > 1; ++id) {
    const TxPath& path = paths_[id];
    if (!path.active() || id == newest_acked_path_ || path.sent.in_flight_segments() == 0) continue;
    const Nanos rtt = path.trip.measured() ? path.trip.smoothed() : round_trip_.smoothed();
    const SentRun* const oldest = path.sent.oldest(pool_);
    if (oldest == nullptr) continue;
    if (newest_acked_sent_at_ - oldest->sent_at > std::max({2 * rtt, longest, kLeastSilence})) {
      set_aside(now, id, LossCause::kPathFailure);
    }
  }
}

// How long a packet may seem to take before its path is asked.
Nanos Flight::lateness() const {
  const Nanos trip = round_trip_.smoothed();
  return std::max(2 * trip, trip + 4 * round_trip_.variation()) + kLateSlack;
}

void Flight::look_for_late_by(Nanos at) {
  late_check_at_ = std::min(late_check_at_, at);
  wake_by(late_check_at_);
}

// An acknowledgement tells of all that has arrived, on every path: what left before something that
// it tells of, and is not among it, has been overtaken or is lost.
bool Flight::overtaken(uint16_t id, const SentRun& run) const {
  if (run.sent_at != newest_acked_sent_at_) return run.sent_at < newest_acked_sent_at_;
  return id != newest_acked_path_ || run.first_number < paths_[id].sent.largest_acked();
}

// When to ask about the oldest packet of a path; never(): nothing says that it is late.
Nanos Flight::late_at(uint16_t id) const {
  const TxPath& path = paths_[id];
  if (!path.active() || path.probes_unanswered > 0) return Nanos::never();
  const SentRun* const oldest = path.sent.oldest(pool_);
  if (oldest == nullptr) return Nanos::never();
  if (!overtaken(id, *oldest)) {
    // Where nothing follows, the path is asked that was asked last.
    if (id != newest_asked_path_ || !path.sent.any_asks(pool_)) return Nanos::never();
  }
  const Nanos held = oldest->later ? AckMaker::kControlDelay : Nanos{};
  // What follows on the same path shows by itself what is missing, so it puts this off, and each
  // time it takes twice as long.
  const Nanos followed = path.sent.newest_sent_at(pool_) - oldest->sent_at;
  return oldest->sent_at + std::max(2 * path.trip.smoothed(), lateness()) + held + 2 * followed;
}

// Whoever answers shows what is missing, long before silence would.
void Flight::ask_late_paths(Nanos now) {
  late_check_at_ = Nanos::never();
  if (!round_trip_.measured()) return;
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    if (paths_[id].sent.in_flight_segments() == 0) continue;
    Nanos at = late_at(id);
    if (at <= now) {
      if (!paths_[id].wants_probe) observer_.step(now, connection_, id, RecoveryStep::kTailProbe);
      want_probe(id);
      at = now + lateness();
    }
    look_for_late_by(at);
  }
}

void Flight::handle_path_timeout(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  if (path.loss_check_at.due(now)) find_losses(now, id, {});
  if (!path.probe_at.due(now)) return;
  if (path.active() && path.sent.in_flight_segments() == 0) {
    forget_losses(now, id);
    path.probe_at = {};
    if (path.sent.remembers_lost()) forget_losses_later(now, path);
    return;
  }
  if (path.active() && path.probes_unanswered >= kTailProbes) {
    set_aside(now, id, LossCause::kTimeout);
    return;
  }
  if (path.active()) {
    observer_.step(now, connection_, id, RecoveryStep::kTailProbe);
    // Another path's answer to a later packet tells whether this one is silent: where nothing else
    // is to be sent, nothing else would tell.
    const TxPath& other = paths_[newest_acked_path_];
    if (active_ > 1 && newest_acked_path_ != id && other.active()) want_probe(newest_acked_path_);
  } else {
    path.sent.give_up(pool_, LossCause::kTimeout, *this);  // earlier probes, and what they carried
    take_losses(now, id, LossCause::kTimeout);
    set_state(now, id, PathState::kProbing);
  }
  if (path.probes_unanswered < kMostUnanswered) ++path.probes_unanswered;
  forget_losses(now, id);
  // A dead path among living ones says nothing of the peer.
  if (path.active() || active_ == 0) note_probe(now);
  want_probe(id);
  path.probe_at = CoarseTime(now + patience(path, path.active() ? seconds(1) : kLongestPatience));
}

void Flight::forget_losses_later(Nanos now, TxPath& path) {
  path.probe_at = CoarseTime(now + kForgetEvery);
  wake_by(path.probe_at.near(now));
}

void Flight::handle_timeout(Nanos now) {
  if (now < wake_at_) return;
  wake_at_ = Nanos::never();
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    TxPath& path = paths_[id];
    if (path.probe_at.due(now) || path.loss_check_at.due(now)) handle_path_timeout(now, id);
    wake_by(std::min(path.probe_at.near(now), path.loss_check_at.near(now)));
  }
  if (now >= late_check_at_) ask_late_paths(now);
  wake_by(late_check_at_);
}

void Flight::note_refused(uint32_t datagram_bytes) {
  if (refused_bytes_ == 0 || datagram_bytes < refused_bytes_) refused_bytes_ = datagram_bytes;
}

void Flight::size_passed(uint16_t id) {
  TxPath& path = paths_[id];
  if (!path.sizes) return;
  path.sizes = false;
  path.size_probes_lost = 0;
  --size_probes_out_;
  if (path.wanted_bytes == 0) return;
  path.datagram_bytes = path.wanted_bytes;
  path.wanted_bytes = 0;
  --unsized_;
  if (path.datagram_bytes >= refused_bytes_) refused_bytes_ = 0;  // the way has changed
  observer_.emit(events::PathSized{newest_sent_at_, connection_, id, path.datagram_bytes, 0});
}

void Flight::size_failed(uint16_t id) {
  TxPath& path = paths_[id];
  if (!path.sizes) return;
  path.sizes = false;
  --size_probes_out_;
  if (++path.size_probes_lost < kSizeProbes) return;
  const uint32_t failed = path.wanted_bytes;
  note_refused(failed);
  path.size_probes_lost = 0;
  const auto* next = std::find_if(kUsualSizes.begin(), kUsualSizes.end(),
                                  [failed](uint32_t size) { return size < failed; });
  const bool more = next != kUsualSizes.end() && *next > path.datagram_bytes;
  path.wanted_bytes = static_cast<uint16_t>(more ? *next : 0);
  if (!more) --unsized_;
  observer_.step(newest_sent_at_, connection_, id, RecoveryStep::kSizeLowered);
  observer_.emit(events::PathSized{newest_sent_at_, connection_, id, path.datagram_bytes, failed});
}

void Flight::on_too_large(Nanos now, uint16_t id, uint32_t datagram_bytes) {
  if (id >= datagram_paths_) return;
  TxPath& path = paths_[id];
  if (datagram_bytes < kBaseDatagram ||
      datagram_bytes >= std::max(path.datagram_bytes, path.wanted_bytes)) {
    return;
  }
  const uint32_t refused = std::max(path.datagram_bytes, path.wanted_bytes);
  note_refused(refused);
  if (path.wanted_bytes != 0) --unsized_;
  if (path.sizes) {
    path.sizes = false;
    --size_probes_out_;
  }
  const auto passes = static_cast<uint16_t>(datagram_bytes);
  path.datagram_bytes = std::min(path.datagram_bytes, passes);
  path.wanted_bytes = passes > path.datagram_bytes ? passes : uint16_t{0};
  if (path.wanted_bytes != 0) ++unsized_;
  observer_.step(now, connection_, id, RecoveryStep::kSizeLowered);
  observer_.emit(events::PathSized{now, connection_, id, path.datagram_bytes, refused});
}

}  // namespace heddle::transport
