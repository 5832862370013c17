// The order in which sizes are probed, and what acknowledgements and losses of probes mean.
#include "transport/path/pmtu_prober.h"

#include <algorithm>

#include "transport/params.h"
#include "transport/path/path_set.h"

namespace heddle::transport {
namespace {

// Whether one of the paths that payload is fixed to works. While none does, the others carry it.
bool chosen_path_works(const PathSet& paths, uint16_t count) {
  for (uint16_t id = 0; id < count; ++id) {
    if (paths[id].active() && !paths[id].share.excluded()) return true;
  }
  return false;
}

}  // namespace

void PmtuProber::open(uint32_t largest) { largest_ = largest; }

void PmtuProber::open_path(PathMtu& path, uint32_t confirmed, bool searches) {
  path.confirmed_ = static_cast<uint16_t>(std::min(confirmed, largest_));
  if (!searches || largest_ <= path.confirmed_) return;
  path.probed_ = static_cast<uint16_t>(largest_);
  ++searching_paths_;
}

// A path that carries no payload is not searched: on a connection of several NICs these searches
// would be a full packet for each path.
bool PmtuProber::poll(const PathSet& paths, uint64_t capacity, uint16_t& id, uint32_t& bytes) {
  if (searching_paths_ == 0) return false;
  const uint64_t in_flight = uint64_t{probes_in_flight_ + 1} * largest_;
  const bool many = probes_in_flight_ >= params::kSizeProbesInFlight ||
                    in_flight > capacity / params::kSizeProbesCapacityPart;
  if (probes_in_flight_ > 0 && many) return false;
  const uint16_t count = paths.datagram_paths();
  std::optional<bool> chosen_works;
  for (uint16_t tried = 0; tried < count; ++tried) {
    next_ = static_cast<uint16_t>((next_ + 1u) % count);
    const TxPath& path = paths[next_];
    if (!path.active() || path.mtu.probed_ == 0 || path.mtu.probe_in_flight_) continue;
    if (path.share.excluded()) {
      if (!chosen_works) chosen_works = chosen_path_works(paths, count);
      if (*chosen_works) continue;
    }
    id = next_;
    bytes = path.mtu.probed_;
    return true;
  }
  return false;
}

void PmtuProber::note_refused(uint32_t bytes) {
  if (smallest_refused_ == 0 || bytes < smallest_refused_) smallest_refused_ = bytes;
}

std::optional<SizeChange> PmtuProber::on_probe_acked(PathMtu& path) {
  if (!path.probe_in_flight_) return std::nullopt;
  path.probe_in_flight_ = false;
  path.probes_lost_ = 0;
  --probes_in_flight_;
  if (path.probed_ == 0) return std::nullopt;
  path.confirmed_ = path.probed_;
  path.probed_ = 0;
  --searching_paths_;
  if (path.confirmed_ >= smallest_refused_) smallest_refused_ = 0;  // the route has changed
  return SizeChange{path.confirmed_, 0};
}

std::optional<SizeChange> PmtuProber::on_probe_lost(PathMtu& path, events::LossCause cause) {
  if (!path.probe_in_flight_) return std::nullopt;
  path.probe_in_flight_ = false;
  --probes_in_flight_;
  // With another cause all packets were lost, whatever their size: the size is probed again.
  if (cause != events::LossCause::kGap) return std::nullopt;
  if (++path.probes_lost_ < params::kSizeProbes) return std::nullopt;
  const uint32_t failed = path.probed_;
  note_refused(failed);
  path.probes_lost_ = 0;
  const auto* next = std::find_if(params::kProbedSizes.begin(), params::kProbedSizes.end(),
                                  [failed](uint32_t size) { return size < failed; });
  const bool more = next != params::kProbedSizes.end() && *next > path.confirmed_;
  path.probed_ = static_cast<uint16_t>(more ? *next : 0);
  if (!more) --searching_paths_;
  return SizeChange{path.confirmed_, failed};
}

// A gap shows that small packets arrive. If no large one does in several round trips, the path's
// limit has shrunk.
std::optional<SizeChange> PmtuProber::on_large_lost(PathMtu& path, uint64_t number,
                                                    uint64_t next_number) {
  const PacketNumberLow lost(static_cast<uint32_t>(number));
  const bool same_round_trip = path.large_lost_below_.steps_to(lost).value_or(0) < 0;
  if (same_round_trip || path.confirmed_ <= params::kBaseDatagram) return std::nullopt;
  path.large_lost_below_ = static_cast<uint32_t>(next_number);
  if (++path.black_hole_rounds_ < params::kBlackHoleRounds) return std::nullopt;
  const uint32_t failed = path.confirmed_;
  restart(path);
  return SizeChange{path.confirmed_, failed};
}

std::optional<SizeChange> PmtuProber::on_too_large(PathMtu& path, uint32_t bytes) {
  const uint32_t refused = std::max(path.confirmed_, path.probed_);
  if (bytes < params::kBaseDatagram || bytes >= refused) return std::nullopt;
  note_refused(refused);
  if (path.probed_ != 0) --searching_paths_;
  if (path.probe_in_flight_) {
    path.probe_in_flight_ = false;
    --probes_in_flight_;
  }
  const auto passes = static_cast<uint16_t>(bytes);
  path.confirmed_ = std::min(path.confirmed_, passes);
  path.probed_ = passes > path.confirmed_ ? passes : uint16_t{0};
  if (path.probed_ != 0) ++searching_paths_;
  return SizeChange{path.confirmed_, refused};
}

void PmtuProber::restart(PathMtu& path) {
  if (path.confirmed_ <= params::kBaseDatagram) return;
  if (path.probed_ == 0) ++searching_paths_;
  path.probed_ = path.confirmed_;
  path.confirmed_ = params::kBaseDatagram;
  path.black_hole_rounds_ = 0;
}

}  // namespace heddle::transport
