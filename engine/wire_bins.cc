// See wire_bins.h. Few keys are counted at a time, so a small table with linear probing does.
#include "engine/wire_bins.h"

#include "base/check.h"
#include "datapath/resolve.h"

namespace heddle::engine {

using events::WireBin;

namespace {

constexpr uint32_t kEthernetBytes = 14;
constexpr uint16_t kAnyPath = UINT16_MAX;  // that no burst takes
// A bin's numbers have 32 bits; below this, whatever a burst or run adds fits.
constexpr uint32_t kTellAbove = 1u << 31;

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
  const uint32_t left = burst.segments - unsent;  // the first ones; the last may be shorter
  const uint32_t payload =
      unsent == 0 ? static_cast<uint32_t>(burst.total_payload()) : left * burst.payload_bytes;
  Slot& slot = slot_of(now, key_of(burst));
  slot.packets += left;
  slot.payload_bytes += payload;
  slot.bytes += payload;
  if (burst.write != nullptr) return;
  slot.bytes += left * (kEthernetBytes + datapath::ip_udp_header_bytes(burst.to) +
                        burst.header_bytes + burst.tag_bytes());
}

void WireBins::received(Nanos now, const transport::RxRun& run) {
  if (run.segments == 0) return;
  Slot& slot = slot_of(now, key_of(run));
  slot.packets += run.segments;
  slot.bytes += run.segments * (kEthernetBytes + datapath::ip_udp_header_bytes(run.from)) +
                (run.segments - 1) * run.segment_bytes + run.last_segment_bytes;
}

WireBins::Slot& WireBins::slot_of(Nanos now, Key key) {
  if (now >= end_) begin(now);
  Slot* slot = &find(key);
  if (slot->packets > 0 && slot->bytes <= kTellAbove) return *slot;
  if (slot->packets > 0 || used_ == kMostUsed) {
    tell_all(now);
    slot = &find(key);
  }
  slot->key = key;
  order_[used_++] = static_cast<uint16_t>(slot - slots_.data());
  return *slot;
}

// The key's slot, or the free one where it would be.
WireBins::Slot& WireBins::find(Key key) {
  size_t at = (key * 0x9e3779b97f4a7c15u >> 40) % kSlots;
  while (slots_[at].packets > 0 && slots_[at].key != key) at = (at + 1) % kSlots;
  return slots_[at];
}

void WireBins::begin(Nanos now) {
  tell(now);
  begin_ = nanos(now.count - now.count % span_.count);
  end_ = begin_ + span_;
}

void WireBins::tell_all(Nanos now) {
  for (size_t i = 0; i < used_; ++i) {
    Slot& slot = slots_[order_[i]];
    const auto path = static_cast<uint16_t>(slot.key >> 16);
    sink_.on(WireBin{
        .time = now,
        .connection = static_cast<uint32_t>(slot.key >> 32),
        .path = path,
        .nic = static_cast<uint8_t>(slot.key >> 8),
        .peer_nic = static_cast<uint8_t>(slot.key),
        .direction = path == kAnyPath ? events::Direction::kReceived : events::Direction::kSent,
        .ago = now - begin_,
        .span_ns = static_cast<uint32_t>(span_.count),
        .packets = slot.packets,
        .bytes = slot.bytes,
        .payload_bytes = slot.payload_bytes});
    slot = {};
  }
  used_ = 0;
}

}  // namespace heddle::engine
