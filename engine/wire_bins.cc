// See wire_bins.h. Few keys are counted at a time, so a small table with linear probing does.
#include "engine/wire_bins.h"

#include "base/check.h"
#include "datapath/resolve.h"

namespace heddle::engine {

using events::WireBin;

namespace {

constexpr uint64_t kEthernetBytes = 14;
constexpr uint16_t kAnyPath = UINT16_MAX;
// A bin's numbers have 32 bits; below this, whatever a burst or run adds fits.
constexpr uint32_t kTellAbove = 1u << 31;

bool same(const WireBin& one, const WireBin& other) {
  return one.connection == other.connection && one.path == other.path && one.nic == other.nic &&
         one.peer_nic == other.peer_nic && one.direction == other.direction;
}

size_t hash_of(const WireBin& key) {
  const uint64_t word = uint64_t{key.connection} << 32 | uint64_t{key.path} << 16 |
                        uint64_t{key.nic} << 8 | uint64_t{key.peer_nic} << 1 |
                        static_cast<uint64_t>(key.direction);
  return static_cast<size_t>(word * 0x9e3779b97f4a7c15u >> 40);
}

}  // namespace

WireBins::WireBins(events::Sink& sink, Nanos span) : sink_(sink), span_(span) {
  CHECK(span.count > 0 && span <= seconds(4));
}

void WireBins::sent(Nanos now, const transport::TxBurst& burst, uint32_t unsent) {
  if (unsent >= burst.segments) return;
  WireBin key;
  key.connection = burst.connection;
  key.path = burst.path;
  key.nic = burst.nic;
  key.peer_nic = burst.peer_nic;
  const uint64_t left = burst.segments - unsent;  // the first ones; the last may be shorter
  Amount amount;
  amount.packets = left;
  amount.payload_bytes = unsent == 0 ? burst.total_payload() : left * burst.payload_bytes;
  amount.bytes = amount.payload_bytes;
  if (burst.write == nullptr) {
    amount.bytes += left * (kEthernetBytes + datapath::ip_udp_header_bytes(burst.to) +
                            burst.header_bytes + burst.tag_bytes());
  }
  add(now, key, amount);
}

void WireBins::received(Nanos now, const transport::RxRun& run) {
  if (run.segments == 0) return;
  WireBin key;
  key.path = kAnyPath;
  key.nic = run.nic;
  key.direction = events::Direction::kReceived;
  Amount amount;
  amount.packets = run.segments;
  amount.bytes = run.segments * (kEthernetBytes + datapath::ip_udp_header_bytes(run.from)) +
                 uint64_t{run.segments - 1u} * run.segment_bytes + run.last_segment_bytes;
  add(now, key, amount);
}

void WireBins::add(Nanos now, const WireBin& key, const Amount& amount) {
  tell(now);
  if (used_ == 0) {
    begin_ = nanos(now.count - now.count % span_.count);
    end_ = begin_ + span_;
  }
  Slot* slot = &slot_of(key);
  if (!slot->taken && used_ == kMostUsed) {
    tell_all(now);
    slot = &slot_of(key);
  }
  if (!slot->taken) {
    *slot = {true, key};
    order_[used_++] = static_cast<uint16_t>(slot - slots_.data());
  }
  slot->bin.packets += static_cast<uint32_t>(amount.packets);
  slot->bin.bytes += static_cast<uint32_t>(amount.bytes);
  slot->bin.payload_bytes += static_cast<uint32_t>(amount.payload_bytes);
  if (slot->bin.bytes > kTellAbove) tell_all(now);
}

WireBins::Slot& WireBins::slot_of(const WireBin& key) {
  size_t at = hash_of(key) % slots_.size();
  while (slots_[at].taken && !same(slots_[at].bin, key)) at = (at + 1) % slots_.size();
  return slots_[at];
}

void WireBins::tell_all(Nanos now) {
  for (size_t i = 0; i < used_; ++i) {
    Slot& slot = slots_[order_[i]];
    slot.bin.time = now;
    slot.bin.ago = now - begin_;
    slot.bin.span_ns = static_cast<uint32_t>(span_.count);
    sink_.on(slot.bin);
    slot.taken = false;
  }
  used_ = 0;
}

}  // namespace heddle::engine
