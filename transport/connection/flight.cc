// The leaving half of Flight: permits, records, and the samples that a selector sees.
#include "transport/connection/flight.h"

#include <algorithm>

#include "transport/tx_batch.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {
namespace {

// A burst leaves only with this part of the window, or a full burst: bursts of scraps cost a system
// call each.
constexpr uint64_t kLeastWindowPart = 8;

}  // namespace

void Flight::open(Nanos now, FlightOptions options) {
  controller_ = std::move(options.controller);
  selector_ = std::move(options.selector);
  peer_window_bytes_ = options.peer_window_bytes;
  largest_datagram_ = options.largest_datagram;
  datagram_paths_ = options.paths;
  chunk_paths_ = options.chunk_paths;
  const auto total = static_cast<uint16_t>(datagram_paths_ + chunk_paths_);
  paths_ = std::vector<TxPath>(total);
  samples_.resize(total);
  sample_of_.resize(total);
  active_ = usable_ = chunk_paths_ > 0 ? chunk_paths_ : datagram_paths_;
  if (options.first_rtt.count > 0) round_trip_.add(now, options.first_rtt);
  for (uint16_t i = 0; i < total; ++i) {
    TxPath& path = paths_[i];
    path.places = i >= datagram_paths_;
    path.datagram_bytes =
        path.places ? options.chunk_bytes : std::min(kBaseDatagram, largest_datagram_);
    path.wanted_bytes =
        !path.places && largest_datagram_ > path.datagram_bytes ? largest_datagram_ : 0;
    if (path.wanted_bytes != 0) ++unsized_;
    if (options.first_rtt.count > 0) path.round_trip.add(now, options.first_rtt);
    // Those that carry payload stand first: they are usable.
    const auto at = static_cast<uint16_t>(carries(i) ? i - (chunk_paths_ > 0 ? datagram_paths_ : 0)
                                                     : chunk_paths_ + i);
    sample_of_[i] = at;
    samples_[at].path = i;
  }
}

void Flight::close() {
  for (TxPath& path : paths_) path.sent.clear(pool_);
  paths_.clear();
  active_ = usable_ = 0;
  in_flight_bytes_ = in_flight_segments_ = 0;
  wake_at_ = first_unanswered_ = Nanos::never();
  probes_.clear();
}

uint64_t Flight::window_left() const {
  const uint64_t window = controller_->window().count;
  return window > in_flight_bytes_ ? window - in_flight_bytes_ : 0;
}

// What may be in flight on one path: twice its even share, so that a slow or dead path cannot hold
// the window.
uint64_t Flight::path_cap() const {
  if (active_ <= 1) return UINT64_MAX;
  return std::max<uint64_t>(2 * kMaxBurstBytes, 2 * controller_->window().count / active_);
}

void Flight::swap_samples(uint32_t a, uint32_t b) {
  if (a == b) return;
  std::swap(samples_[a], samples_[b]);
  sample_of_[samples_[a].path] = static_cast<uint16_t>(a);
  sample_of_[samples_[b].path] = static_cast<uint16_t>(b);
}

// Brings what the selector sees of a path up to date, and moves it in or out of the usable ones.
void Flight::refresh_sample(uint16_t id) {
  const TxPath& path = paths_[id];
  uint32_t at = sample_of_[id];
  PathSample& sample = samples_[at];
  sample.smoothed_rtt = path.round_trip.smoothed();
  sample.latest_rtt = path.round_trip.latest();
  sample.min_rtt = path.round_trip.minimum();
  sample.in_flight = {path.sent.in_flight_bytes()};
  sample.delivered = {path.delivered_bytes};
  sample.marked = path.marked;
  // The low bits in an immediate must tell a chunk path's numbers apart.
  const bool ahead =
      path.places && path.next_number > path.sent.largest_acked() + Immediate::kMaxAhead;
  const bool usable = carries(id) && path.active() && !ahead &&
                      path.sent.in_flight_bytes() + path.datagram_bytes <= path_cap();
  if (usable && at >= usable_) swap_samples(at, usable_++);
  if (!usable && at < usable_) swap_samples(at, --usable_);
}

// How many bytes the window and the pacer let out now; 0: none.
uint64_t Flight::gate(Nanos now) {
  const uint64_t window = controller_->window().count;
  const uint64_t left = window_left();
  const bool scraps = left < std::min<uint64_t>(kMaxBurstBytes, window / kLeastWindowPart);
  if (scraps && in_flight_bytes_ > 0) {
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
uint32_t Flight::datagrams_that_fit(uint64_t budget, uint64_t size) const {
  const uint64_t held = in_flight_bytes_ + uint64_t{kReceiveOverhead} * in_flight_segments_;
  const uint64_t room = peer_window_bytes_ > held ? peer_window_bytes_ - held : 0;
  const uint64_t fits = std::min(budget / size, room / (size + kReceiveOverhead));
  if (fits == 0 && in_flight_bytes_ == 0) return 1;
  return static_cast<uint32_t>(std::min<uint64_t>(fits, rows_.most()));
}

bool Flight::permit(Nanos now, Random& random, Permit& permit) {
  if (active_ == 0) return false;
  const uint64_t budget = gate(now);
  if (budget == 0) return false;
  if (usable_ == 0) {
    window_limited_ = true;
    return false;
  }
  const std::span<const PathSample> usable{samples_.data(), usable_};
  const uint16_t id = samples_[selector_->select(usable, random)].path;
  const TxPath& path = paths_[id];
  const uint64_t size = path.datagram_bytes;
  const uint64_t left = window_left();
  uint32_t segments = 0;
  if (path.places) {
    segments = left >= size || in_flight_bytes_ == 0 ? 1 : 0;
  } else {
    segments = datagrams_that_fit(std::min(budget, path_cap() - path.sent.in_flight_bytes()), size);
  }
  if (segments == 0) {
    window_limited_ = true;
    return false;
  }
  const uint64_t after = left - std::min(left, segments * size);
  const uint64_t held = in_flight_bytes_ + uint64_t{kReceiveOverhead} * in_flight_segments_;
  const bool fills_peer =
      !path.places && held + (segments + 1) * (size + kReceiveOverhead) > peer_window_bytes_;
  permit = {id, path.datagram_bytes, segments,
            fills_peer || after < controller_->window().count / kLeastWindowPart};
  return true;
}

bool Flight::permit_datagrams(Nanos now, Permit& permit) {
  const uint64_t budget = gate(now);
  if (budget == 0) return false;
  const uint16_t id = control_path();
  if (!paths_[id].active()) return false;
  const uint32_t segments = datagrams_that_fit(budget, paths_[id].datagram_bytes);
  if (segments == 0) {
    window_limited_ = true;
    return false;
  }
  permit = {id, paths_[id].datagram_bytes, segments, true};
  return true;
}

uint16_t Flight::control_path() {
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
  run.first_number = paths_[id].next_number;
  run.count = segments;
  return &run;
}

void Flight::sent(Nanos now, uint16_t id) {
  TxPath& path = paths_[id];
  SentRun& run = pool_[recording_];
  run.sent_at = now;
  path.next_number += run.count;
  path.sent.append(pool_, recording_);
  const uint64_t bytes = run.bytes(0, run.count);
  in_flight_bytes_ += bytes;
  in_flight_segments_ += run.count;
  path.last_sent_at = now;
  if (path.active()) path.probe_at = now + path.patience(micros(1000), seconds(1));
  wake_by(path.probe_at);
  if (run.sizes_path) {
    path.size_probe_number = run.first_number;
    ++size_probes_out_;
  }
  if (run.data) {
    path.payload_bytes_sent += bytes - uint64_t{run.count} * run.header_bytes;
    pacer_.on_sent(now, {bytes}, controller_->pacing_rate());
    refresh_sample(id);
  }
}

bool Flight::poll_probe(uint16_t& path) {
  if (probes_.empty()) return false;
  path = probes_.pop_front();
  return true;
}

bool Flight::poll_size_probe(uint16_t& id, uint32_t& bytes) {
  if (unsized_ == 0) return false;
  const uint64_t out = uint64_t{size_probes_out_ + 1} * largest_datagram_;
  if (size_probes_out_ > 0 && (size_probes_out_ >= 4 || out > peer_window_bytes_ / 4)) return false;
  for (uint16_t tried = 0; tried < datagram_paths_; ++tried) {
    next_size_probe_ = static_cast<uint16_t>((next_size_probe_ + 1u) % datagram_paths_);
    const TxPath& path = paths_[next_size_probe_];
    if (!path.active() || path.wanted_bytes == 0 || path.size_probe_number != 0) continue;
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
  for (const TxPath& path : paths_) {
    const uint32_t headers = path.places ? 0 : kDataHeaderBytes;
    s.segment_bytes = std::max(s.segment_bytes, path.datagram_bytes - headers);
  }
}

void Flight::fill(std::vector<PathStatistics>& statistics) const {
  statistics.resize(paths_.size());
  for (size_t i = 0; i < paths_.size(); ++i) {
    const TxPath& path = paths_[i];
    statistics[i] = {static_cast<uint16_t>(i), path.active(),
                     path.payload_bytes_sent,  path.datagram_bytes - kDataHeaderBytes,
                     path.segments_lost,       path.round_trip.smoothed()};
  }
}

size_t Flight::bytes_held() const {
  return paths_.capacity() * sizeof(TxPath) + samples_.capacity() * sizeof(PathSample) +
         sample_of_.capacity() * sizeof(uint16_t) + probes_.capacity() * sizeof(uint16_t);
}

}  // namespace heddle::transport
