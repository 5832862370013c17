// Which copies bring payload to its place.
#include "transport/messages/placement.h"

#include <algorithm>

#include "transport/tx_batch.h"

namespace heddle::transport {

EagerBlocks::EagerBlocks(RegionId region, Bytes size, uint32_t block_bytes)
    : region_(region),
      block_bytes_(block_bytes),
      total_(region == kNoRegion || block_bytes == 0
                 ? 0
                 : static_cast<uint32_t>(size.count / block_bytes)) {}

uint32_t EagerBlocks::lend() {
  if (!free_.empty()) {
    const uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  return used_ < total_ ? used_++ : kNoIndex;
}

Payload PayloadPlacer::target(const InMessage& message) const {
  return message.posted ? message.buffer : eager_.place(message.eager_block);
}

void PayloadPlacer::place(const InMessage& message, const DataBurst& burst, uint64_t fresh) {
  // Each segment may be a placement of its own: room for a whole burst is made once.
  placements_.reserve(kMaxBurstSegments);
  if (fresh == burst.bytes()) {
    add(placement_of(message, burst, 0, burst.segments));
    return;
  }
  for (uint32_t i = 0; i < burst.segments; ++i) place_new_parts(message, burst, i);
}

// The size of segments may have changed since they were first sent, so that one is new in parts.
void PayloadPlacer::place_new_parts(const InMessage& message, const DataBurst& burst,
                                    uint32_t segment) {
  const uint64_t from = burst.header.offset + uint64_t{segment} * burst.step;
  const uint64_t to = from + (segment + 1 == burst.segments ? burst.last : burst.step);
  uint64_t start = message.received.first_gap(from);
  while (start < to) {
    const uint64_t end = message.received.first_covered(start, to);
    Placement part = placement_of(message, burst, segment, 1);
    part.source += part.payload_at == PayloadAt::kFrame ? start - from : 0;
    part.from.offset += start - from;
    part.to_offset += start - from;
    part.bytes = part.last_bytes = static_cast<uint32_t>(std::min(end, to) - start);
    part.from.length = part.bytes;
    add(part);
    start = message.received.first_gap(end);
  }
}

// Where `count` segments of the burst, from `first` on, are and where they go.
Placement PayloadPlacer::placement_of(const InMessage& message, const DataBurst& burst,
                                      uint32_t first, uint32_t count) const {
  const RxRun& run = *burst.run;
  const uint32_t at = burst.first + first;  // index in the run
  const Payload to = target(message);
  Placement placement;
  placement.payload_at = run.payload_at;
  placement.segments = count;
  placement.bytes = burst.step;
  placement.last_bytes = first + count == burst.segments ? burst.last : burst.step;
  placement.to_region = to.region;
  placement.to_offset = to.offset + burst.header.offset + uint64_t{first} * burst.step;
  if (run.payload_at == PayloadAt::kFrame) {
    placement.source = run.frame + size_t{at} * run.step() + burst.header_bytes;
    placement.source_step = run.step();
  } else {
    const uint32_t run_step = run.segment_bytes - burst.header_bytes;
    placement.from = {run.place.region, run.place.offset + uint64_t{at} * run_step,
                      uint64_t{count - 1} * burst.step + placement.last_bytes};
  }
  return placement;
}

// Asks for the copy, unless a prediction has made it needless.
void PayloadPlacer::add(const Placement& placement) {
  const bool there = placement.payload_at == PayloadAt::kPlaced &&
                     placement.from.region == placement.to_region &&
                     placement.from.offset == placement.to_offset;
  if (!there) placements_.push_back(placement);
}

void PayloadPlacer::move_from_eager(InMessage& message) {
  if (message.eager_block == kNoIndex) return;
  if (!message.failed) {
    const Payload block = eager_.place(message.eager_block);
    for (size_t i = 0; i < message.received.size(); ++i) {
      const auto [start, end] = message.received[i];
      Placement placement;
      placement.payload_at = PayloadAt::kPlaced;
      placement.segments = 1;
      placement.bytes = placement.last_bytes = static_cast<uint32_t>(end - start);
      placement.from = {block.region, block.offset + start, end - start};
      placement.to_region = message.buffer.region;
      placement.to_offset = message.buffer.offset + start;
      placements_.push_back(placement);
    }
  }
  release_block(message);
}

void PayloadPlacer::release_block(InMessage& message) {
  if (message.eager_block == kNoIndex) return;
  eager_.give_back(message.eager_block);
  message.eager_block = kNoIndex;
}

}  // namespace heddle::transport
