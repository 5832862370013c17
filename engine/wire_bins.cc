// See wire_bins.h.
#include "engine/wire_bins.h"

#include "base/check.h"
#include "datapath/resolve.h"

namespace heddle::engine {

using events::WireBin;

namespace {

constexpr uint32_t kEthernetBytes = 14;
constexpr uint16_t kAnyPath = UINT16_MAX;  // no burst uses it
// Bin counters have 32 bits; below this threshold a burst or run cannot overflow them.
constexpr uint32_t kReportAbove = 1u << 31;

}  // namespace

WireBins::WireBins(events::Sink& sink, Nanos span) : sink_(sink), span_(span) {
  CHECK(span.count > 0 && span <= seconds(4));
}

WireBins::Key WireBins::key_of(const transport::TxBurst& burst) {
  return Key{burst.connection} << 32 | Key{burst.path} << 16 | Key{burst.nic} << 8 | burst.peer_nic;
}

WireBins::Key WireBins::key_of(const transport::RxRun& run) {
  return Key{kAnyPath} << 16 | Key{run.nic} << 8;
}

void WireBins::sent(Nanos now, const transport::TxBurst& burst, uint32_t unsent) {
  if (unsent >= burst.segments) return;
  const uint32_t left = burst.segments - unsent;  // the first ones; the last segment may be shorter
  const uint32_t payload =
      unsent == 0 ? static_cast<uint32_t>(burst.total_payload()) : left * burst.payload_bytes;
  Count& count = count_of(now, key_of(burst));
  count.packets += left;
  count.payload_bytes += payload;
  count.bytes += payload;
  if (burst.write != nullptr) return;
  count.bytes += left * (kEthernetBytes + datapath::ip_udp_header_bytes(burst.to) +
                         burst.header_bytes + burst.tag_bytes());
}

void WireBins::received(Nanos now, const transport::RxRun& run) {
  if (run.segments == 0) return;
  Count& count = count_of(now, key_of(run));
  count.packets += run.segments;
  count.bytes += run.segments * (kEthernetBytes + datapath::ip_udp_header_bytes(run.from)) +
                 (run.segments - 1) * run.segment_bytes + run.last_segment_bytes;
}

WireBins::Count& WireBins::count_of(Nanos now, Key key) {
  if (now >= end_) begin(now);
  const size_t place = find(key);
  if (place < used_ && counts_[place].bytes <= kReportAbove) return counts_[place];
  if (place < used_ || used_ == kMostUsed) report_all(now);
  return add(key);
}

WireBins::Count& WireBins::add(Key key) {
  keys_[used_] = key;
  Count& count = counts_[used_++] = {};
  const size_t missing = used_ == kFew + 1 ? used_ : used_ > kFew ? 1 : 0;
  for (size_t place = used_ - missing; place < used_; ++place) {
    places_[spot_of(keys_[place])] = static_cast<uint8_t>(1 + place);
  }
  return count;
}

size_t WireBins::find(Key key) const {
  if (used_ > kFew) {
    const uint8_t place = places_[spot_of(key)];
    return place > 0 ? place - 1 : used_;
  }
  size_t place = 0;
  while (place < used_ && keys_[place] != key) ++place;
  return place;
}

// Linear probing; at least half of the slots are free.
size_t WireBins::spot_of(Key key) const {
  size_t spot = (key * 0x9e3779b97f4a7c15u >> 40) % places_.size();
  while (places_[spot] > 0 && keys_[places_[spot] - 1] != key) spot = (spot + 1) % places_.size();
  return spot;
}

void WireBins::begin(Nanos now) {
  tell(now);
  begin_ = nanos(now.count - now.count % span_.count);
  end_ = begin_ + span_;
}

void WireBins::report_all(Nanos now) {
  for (size_t i = 0; i < used_; ++i) {
    const Key key = keys_[i];
    const Count& count = counts_[i];
    const auto path = static_cast<uint16_t>(key >> 16);
    sink_.on(WireBin{
        .time = now,
        .connection = static_cast<uint32_t>(key >> 32),
        .path = path,
        .nic = static_cast<uint8_t>(key >> 8),
        .peer_nic = static_cast<uint8_t>(key),
        .direction = path == kAnyPath ? events::Direction::kReceived : events::Direction::kSent,
        .ago = now - begin_,
        .span_ns = static_cast<uint32_t>(span_.count),
        .packets = count.packets,
        .bytes = count.bytes,
        .payload_bytes = count.payload_bytes});
  }
  if (used_ > kFew) places_.fill(0);
  used_ = 0;
}

}  // namespace heddle::engine
