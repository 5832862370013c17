// The leaving half of Flight: permits, records, and the samples that a selector sees.
#include "transport/connection/flight.h"

#include <algorithm>

#include "transport/recovery/ack_maker.h"
#include "transport/tx_batch.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {
namespace {

// A burst leaves only with this part of the window, or a full burst: bursts of scraps cost a system
// call each.
constexpr uint64_t kLeastWindowPart = 8;
// Over several paths a window leaves in so many bursts, so that none makes a queue of its own: four
// links of 200 Mb/s are used to 88, 93 and 96% with 16, 32 and 64 of them by TwoChoices, and
// to 99% with 32 by Reps.
constexpr uint64_t kBurstsAWindow = 32;
// Small messages share a path for so long.
constexpr Nanos kLongestBurst = micros(500);
constexpr Nanos kShortBurst = micros(15);
// A selector is asked so often for a path that is known to work.
constexpr int kTriesForProven = 3;
// So many times as much leaves between questions to old paths where so little is under way that
// hardly anything waits for anything: there a question is a packet that the next message waits for.
// But where round trips are long so much takes minutes, and a path may have become slow.
constexpr uint64_t kSparedQuestions = 64;
constexpr Nanos kSparedFor = millis(100);
// Acknowledgements are asked for so often a window, at least.
constexpr uint64_t kAskedAWindow = 4;
// No more is in flight on one path: its bytes are counted in 32 bits.
constexpr uint64_t kMostOnPath = uint64_t{1} << 31;

}  // namespace

void Flight::open(Nanos now, FlightOptions options) {
  controller_ = std::move(options.controller);
  selector_ = std::move(options.selector);
  quota_ = {};
  quota_.set_capacity(options.peer_window_bytes);
  largest_datagram_ = options.largest_datagram;
  if (options.longest_burst > 0) longest_burst_ = std::min(options.longest_burst, kMaxBurstBytes);
  datagram_paths_ = options.paths;
  chunk_paths_ = options.chunk_paths;
  chunk_bytes_ = options.chunk_bytes;
  const auto total = static_cast<uint16_t>(datagram_paths_ + chunk_paths_);
  paths_ = std::vector<TxPath>(total);
  order_ = std::vector<uint16_t>(total);
  active_ = usable_ = chunk_paths_ > 0 ? chunk_paths_ : datagram_paths_;
  if (options.first_rtt.count > 0) round_trip_.add(now, options.first_rtt);
  heard_ = options.first_rtt.count > 0;
  phase_until_ = now + phase_length();  // nothing is old yet
  const uint32_t passed = std::max(options.passed_datagram, kBaseDatagram);
  for (uint16_t i = 0; i < total; ++i) {
    TxPath& path = paths_[i];
    path.datagram_bytes = static_cast<uint16_t>(std::min(passed, largest_datagram_));
    if (!places(i) && largest_datagram_ > path.datagram_bytes) {
      path.wanted_bytes = static_cast<uint16_t>(largest_datagram_);
      ++unsized_;
    }
    if (options.first_rtt.count > 0) path.trip.add(options.first_rtt);
    // Those that carry payload stand first: they are usable.
    const auto at = static_cast<uint16_t>(
        of_payload(i) ? i - (chunk_paths_ > 0 ? datagram_paths_ : 0) : chunk_paths_ + i);
    path.place = at;
    order_[at] = i;
  }
}

void Flight::close() {
  for (TxPath& path : paths_) path.sent.clear(pool_);
  paths_.clear();
  active_ = usable_ = 0;
  in_flight_bytes_ = in_flight_segments_ = 0;
  wake_at_ = first_unanswered_ = Nanos::never();
  probes_wanted_ = 0;
}

uint64_t Flight::window_left() const {
  const uint64_t window = controller_->window().count;
  return window > in_flight_bytes_ ? window - in_flight_bytes_ : 0;
}

// What may be in flight on one path: twice its even share, so that a slow or dead path cannot hold
// the window.
uint64_t Flight::path_cap() const {
  if (active_ <= 1) return kMostOnPath;
  const uint64_t share = 2 * controller_->window().count / active_;
  return std::clamp<uint64_t>(share, 2 * kMaxBurstBytes, kMostOnPath);
}

void Flight::swap_places(uint32_t a, uint32_t b) {
  std::swap(order_[a], order_[b]);
  paths_[order_[a]].place = static_cast<uint16_t>(a);
  paths_[order_[b]].place = static_cast<uint16_t>(b);
}

PathSample Flight::sample_of(uint16_t id) const {
  const TxPath& path = paths_[id];
  PathSample sample;
  sample.path = id;
  sample.latest_rtt = path.trip.latest();
  sample.in_flight = {path.sent.in_flight_bytes()};
  sample.recent_losses = recent_losses(path);
  sample.marked = path.marked;
  sample.stale = age(path) >= kStaleAge;
  return sample;
}

UsablePaths Flight::usable() const {
  return {this, usable_,
          [](const void* owner, uint32_t at) {
            const auto* flight = static_cast<const Flight*>(owner);
            return flight->sample_of(flight->order_[at]);
          },
          [](const void* owner, uint16_t id) {
            const auto* flight = static_cast<const Flight*>(owner);
            if (id >= flight->paths_.size()) return UsablePaths::kNowhere;
            const uint32_t at = flight->paths_[id].place;
            return at < flight->usable_ ? at : UsablePaths::kNowhere;
          }};
}

// Moves a path in or out of the usable ones.
void Flight::refresh_usable(uint16_t id) {
  const TxPath& path = paths_[id];
  const uint32_t at = path.place;
  // The low bits in an immediate must tell a chunk path's numbers apart.
  const bool ahead =
      places(id) && path.sent.next_number() > path.sent.largest_acked() + Immediate::kMaxAhead;
  const bool usable = carries(id) && path.active() && !ahead &&
                      path.sent.in_flight_bytes() + packet_bytes(id) <= path_cap();
  if (usable && at >= usable_) swap_places(at, usable_++);
  if (!usable && at < usable_) swap_places(at, --usable_);
}

bool Flight::short_of_window() const {
  const uint64_t part = controller_->window().count / kLeastWindowPart;
  return window_left() < std::min<uint64_t>(kMaxBurstBytes, part);
}

// How many bytes the window and the pacer let out now; 0: none.
uint64_t Flight::gate(Nanos now) {
  const uint64_t left = window_left();
  if (short_of_window() && in_flight_bytes_ > 0) {
    window_limited_ = true;
    return 0;
  }
  const uint64_t paced =
      pacer_.allowance(now, controller_->pacing_rate(), {largest_datagram_}).count;
  if (paced == 0) wake_by(pacer_.ready_at());
  // Bursts that are large beside the window would make queues that no controller asked for.
  const uint64_t burst = std::max<uint64_t>(controller_->burst_limit().count, largest_datagram_);
  return std::min<uint64_t>({std::max<uint64_t>(left, 1), paced, burst, kMaxBurstBytes});
}

// Segments of `size` within `budget` that the peer's socket can hold as well; one if nothing is
// under way.
uint32_t Flight::datagrams_that_fit(Nanos now, uint64_t budget, uint64_t size) {
  const uint64_t cost = size + kReceiveOverhead;
  const uint64_t room = quota_.left(now, held());
  const uint64_t fits = std::min(budget / size, room / cost);
  if (fits > 0) return static_cast<uint32_t>(std::min<uint64_t>(fits, rows_.most()));
  if (in_flight_bytes_ == 0) return 1;
  if (room < cost) {
    quota_.note_short();
    wake_by(quota_.ready_at(now, held(), cost));
  }
  return 0;
}

// What leaves at once on one of several paths: a small part of the window, so that no path's queue
// swells by it; but on a network that takes it away at once there is no queue to swell, and a
// program that sends little at a time never makes its window grow.
uint32_t Flight::burst_bytes() const {
  if (active_ <= 1) return kMaxBurstBytes;
  const uint64_t part = std::max(controller_->window().count / kBurstsAWindow,
                                 bytes_within(kShortBurst, controller_->pacing_rate()).count);
  return static_cast<uint32_t>(std::clamp<uint64_t>(part, 1, longest_burst_));
}

// The selector's choice, unless nothing was heard of that path for long while others are known to
// work: then it is asked first. Payload on a path that died meanwhile would be missed by all that
// comes behind it. Small messages, each of which may choose anew, ask no more than those that fill
// their bursts, unless their path loses some: where round trips are short, every path is old after
// a few of them. One at a time they ask less.
uint16_t Flight::proven_path(Nanos now, Random& random) {
  uint16_t id = order_[selector_->select(usable(), random)];
  const TxPath& latest = paths_[burst_path_];
  if (!is_unproven(id) || latest.place >= usable_) return id;
  const uint32_t half = burst_bytes() / 2;
  const bool spares = in_flight_bytes_ < half && now < asked_old_at_ + kSparedFor;
  const uint64_t spared = spares ? kSparedQuestions : 1;
  const bool may_ask = since_question_ >= spared * half || recent_losses(latest) > 0;
  if (is_unproven(burst_path_) || !may_ask) return burst_path_;
  for (int tries = 0; tries < kTriesForProven && is_unproven(id); ++tries) {
    if (paths_[id].sent.in_flight_segments() == 0) {
      want_probe(id);
      since_question_ = 0;
      asked_old_at_ = now;
    }
    id = order_[selector_->select(usable(), random)];
  }
  return is_unproven(id) ? burst_path_ : id;
}

// Small messages that leave together share a path, as the segments of a large one do: so do their
// acknowledgements.
uint16_t Flight::choose_path(Nanos now, Random& random) {
  if (!heard_ && paths_[next_control_].place < usable_) {
    burst_left_ = places(next_control_) ? 0 : burst_bytes();
    return burst_path_ = next_control_;
  }
  const bool goes_on = burst_left_ > burst_bytes() / 2 && now < burst_until_;
  if (goes_on && paths_[burst_path_].place < usable_) return burst_path_;
  burst_path_ = proven_path(now, random);
  burst_left_ = places(burst_path_) ? 0 : burst_bytes();
  burst_until_ = now + kLongestBurst;
  return burst_path_;
}

// A window is refilled in steps then; were each of many small packets to ask, each would be
// acknowledged alone.
bool Flight::worth_asking(uint64_t bytes, bool window_ends) const {
  const uint64_t window = std::min(controller_->window().count, quota_.most());
  if (window_ends) return unasked_bytes_ + bytes >= window / kAskedAWindow;
  // The peer tells of several long bursts at a time. A window that holds fewer would leave as a
  // whole and stand still until it is answered.
  return bytes >= AckMaker::kBytes && window < AckMaker::kArrivals * uint64_t{kMaxBurstBytes} &&
         unasked_bytes_ + bytes >= window / 2;
}

bool Flight::window_holds(uint64_t bytes, uint64_t segments) const {
  const uint64_t overhead = kReceiveOverhead * (in_flight_segments_ + segments);
  return bytes <= window_left() && in_flight_bytes_ + bytes + overhead <= quota_.most();
}

bool Flight::permit(Nanos now, Random& random, Permit& permit) {
  if (active_ == 0) return false;
  const uint64_t budget = gate(now);
  if (budget == 0) return false;
  if (usable_ == 0) {
    window_limited_ = true;
    return false;
  }
  const uint16_t id = choose_path(now, random);
  const TxPath& path = paths_[id];
  const uint64_t size = packet_bytes(id);
  const uint64_t left = window_left();
  uint32_t segments = 0;
  if (places(id)) {
    segments = left >= size || in_flight_bytes_ == 0 ? 1 : 0;
  } else {
    // The cap may have shrunk since the path was found to be below it.
    const uint64_t cap = std::max(path_cap(), path.sent.in_flight_bytes() + size);
    const uint64_t most = std::min<uint64_t>(
        {budget, cap - path.sent.in_flight_bytes(), std::max<uint64_t>(burst_left_, size)});
    segments = datagrams_that_fit(now, most, size);
  }
  if (segments == 0) {
    window_limited_ = true;
    return false;
  }
  const uint64_t after = left - std::min(left, segments * size);
  const bool fills_peer =
      !places(id) && held() + (segments + 1) * (size + kReceiveOverhead) > quota_.most();
  const bool last = fills_peer || after < controller_->window().count / kLeastWindowPart;
  permit = {id, static_cast<uint32_t>(size), segments, last};
  return true;
}

bool Flight::permit_datagrams(Nanos now, Permit& permit) {
  const uint64_t budget = gate(now);
  if (budget == 0) return false;
  const uint16_t id = control_path();
  if (!paths_[id].active()) return false;
  const uint32_t segments = datagrams_that_fit(now, budget, paths_[id].datagram_bytes);
  if (segments == 0) {
    window_limited_ = true;
    return false;
  }
  permit = {id, paths_[id].datagram_bytes, segments, true};
  return true;
}

uint16_t Flight::next_control_path() {
  for (uint16_t tried = 0; tried < datagram_paths_; ++tried) {
    next_control_ = static_cast<uint16_t>((next_control_ + 1u) % datagram_paths_);
    if (paths_[next_control_].active()) break;
  }
  return next_control_;
}

bool Flight::trusts(uint16_t id) const {
  if (id >= paths_.size() || paths_[id].active()) return true;
  return std::none_of(paths_.begin(), paths_.begin() + datagram_paths_,
                      [](const TxPath& path) { return path.active(); });
}

SentRun* Flight::record(uint16_t id, uint8_t segments) {
  recording_ = pool_.lend();
  if (recording_ == kNoIndex) {  // what is remembered of losses gives way
    for (TxPath& path : paths_) path.sent.forget_lost(pool_, Nanos::never());
    recording_ = pool_.lend();
  }
  if (recording_ == kNoIndex) return nullptr;
  SentRun& run = pool_[recording_];
  run = SentRun{};
  run.first_number = paths_[id].sent.next_number();
  run.count = segments;
  return &run;
}

void Flight::sent(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  SentRun& run = pool_[recording_];
  run.sent_at = now;
  path.sent.append(pool_, recording_);
  newest_sent_at_ = now;
  if (run.asks) {
    newest_asked_path_ = id;
    look_for_late_by(now + lateness());
  }
  if (run.hop_limit != 0) {
    if (path.probe_at.near(now) == Nanos::never()) forget_losses_later(now, path);
    return;
  }
  const uint64_t bytes = run.bytes(0, run.count);
  in_flight_bytes_ += bytes;
  in_flight_segments_ += run.count;
  if (path.active()) {
    Nanos probe_at = now + patience(path, seconds(1));
    // Whoever only asks about what is under way does not put off the probe that is due for that.
    const bool only_asks = !run.data && run.control_count == 0;
    if (only_asks && path.sent.in_flight_segments() > run.count) {
      probe_at = std::min(probe_at, path.probe_at.near(now));
    }
    path.probe_at = CoarseTime(probe_at);
    wake_by(path.probe_at.near(now));
  }
  if (run.sizes_path) {
    path.sizes = true;
    ++size_probes_out_;
  }
  if (run.data) {
    path.payload_bytes_sent += bytes - uint64_t{run.count} * run.header_bytes;
    burst_left_ -= std::min(burst_left_, static_cast<uint32_t>(bytes));
    since_question_ += std::min(UINT32_MAX - since_question_, static_cast<uint32_t>(bytes));
    selector_->on_sent(id, {bytes});
    unasked_bytes_ = run.asks ? 0 : unasked_bytes_ + bytes;
    pacer_.on_sent(now, {bytes}, controller_->pacing_rate());
    quota_.on_sent(now, bytes + uint64_t{kReceiveOverhead} * run.count);
    refresh_usable(id);
  }
}

// How long to wait for an acknowledgement before probing: what the peer may hold it back included,
// doubled for each probe that went unanswered, up to `longest`.
Nanos Flight::patience(const TxPath& path, Nanos longest) const {
  const Nanos once = round_trip_.probe_timeout(path.trip) + AckMaker::kControlDelay;
  return std::min(once * (int64_t{1} << std::min<uint8_t>(path.probes_unanswered, 10)), longest);
}

void Flight::want_probe(uint16_t id) {
  probes_wanted_ += paths_[id].wants_probe ? 0 : 1;
  paths_[id].wants_probe = true;
}

bool Flight::poll_probe(uint16_t& id) {
  if (probes_wanted_ == 0) return false;
  while (!paths_[next_probe_ % paths_.size()].wants_probe) ++next_probe_;
  id = static_cast<uint16_t>(next_probe_ % paths_.size());
  next_probe_ = static_cast<uint16_t>(id + 1u);
  paths_[id].wants_probe = false;
  --probes_wanted_;
  return true;
}

bool Flight::poll_size_probe(uint16_t& id, uint32_t& bytes) {
  if (unsized_ == 0) return false;
  const uint64_t out = uint64_t{size_probes_out_ + 1} * largest_datagram_;
  if (size_probes_out_ > 0 && (size_probes_out_ >= 4 || out > quota_.capacity() / 4)) return false;
  for (uint16_t tried = 0; tried < datagram_paths_; ++tried) {
    next_size_probe_ = static_cast<uint16_t>((next_size_probe_ + 1u) % datagram_paths_);
    const TxPath& path = paths_[next_size_probe_];
    if (!path.active() || path.wanted_bytes == 0 || path.sizes) continue;
    id = next_size_probe_;
    bytes = path.wanted_bytes;
    return true;
  }
  return false;
}

void Flight::fill(ConnectionStatistics& s) const {
  s.smoothed_rtt = round_trip_.smoothed();
  s.min_rtt = round_trip_.minimum();
  s.window_bytes = controller_ ? controller_->window().count : 0;
  s.pacing_rate = controller_ ? controller_->pacing_rate() : BitsPerSec{};
  s.paths = static_cast<uint32_t>(paths_.size());
  s.congestion_marks = marks_;
  s.offered_datagram_bytes = largest_datagram_;
  s.refused_datagram_bytes = refused_bytes_;
  s.segment_bytes = 0;
  for (uint16_t id = 0; id < paths_.size(); ++id) {
    s.segment_bytes = std::max(s.segment_bytes, segment_bytes(id));
  }
}

void Flight::fill(std::vector<PathStatistics>& statistics) const {
  statistics.resize(paths_.size());
  for (size_t i = 0; i < paths_.size(); ++i) {
    const TxPath& path = paths_[i];
    statistics[i] = {static_cast<uint16_t>(i), path.active(),
                     path.payload_bytes_sent,  segment_bytes(static_cast<uint16_t>(i)),
                     path.segments_lost,       path.trip.smoothed()};
  }
}

size_t Flight::bytes_held() const {
  return paths_.capacity() * sizeof(TxPath) + order_.capacity() * sizeof(uint16_t);
}

}  // namespace heddle::transport
