// Ring schedules: see ring.h.
#include "collectives/schedule/ring.h"

#include <algorithm>

#include "collectives/params.h"

namespace heddle::collectives {

// --- reduce-scatter ---

RingReduceScatter::RingReduceScatter(const Shape& shape) : shape_(shape) {
  if (shape_.size == 1) {
    steps_a_block_ = 1;
    return;
  }
  blocks_ = pieces_of(shape_.count, params::kRingChunks * shape_.chunk_count());
  const Part block = part_of(shape_.count, blocks_, 0);
  chunks_ = shape_.cut(block.length);
  steps_a_block_ = 2 * (shape_.size - 1) * chunks_.count();
}

// Partial sums alternate between two places a chunk, and blocks between two sets of these.
uint64_t RingReduceScatter::scratch_bytes() const {
  return shape_.size <= 2 ? 0 : shape_.bytes(4 * chunks_.count() * chunks_.longest());
}

Part RingReduceScatter::scratch(uint64_t block, uint64_t round, uint64_t chunk,
                                uint64_t length) const {
  const uint64_t set = block % 2 * 2 + round % 2;
  return {(set * chunks_.count() + chunk) * chunks_.longest(), length};
}

// Round t sends segment r - 1 - t and reduces segment r - 2 - t; the last is segment r.
Step RingReduceScatter::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const uint64_t block = index / steps_a_block_;
  const uint64_t rest = index % steps_a_block_;
  const uint64_t round = rest / (2 * chunks_.count());
  const uint64_t chunk = rest % (2 * chunks_.count()) / 2;
  const bool sends = rest % 2 == 0;
  const Part mine = chunks_.part(part_of(shape_.count, blocks_, block), chunk);
  const uint64_t segment = shape_.before(round + (sends ? 1 : 2));
  const Part part = {segment * shape_.count + mine.offset, mine.length};
  if (sends) {
    if (round == 0) return send_step(shape_, shape_.after(1), Buffer::kInput, part);
    return send_step(shape_, shape_.after(1), Buffer::kScratch,
                     scratch(block, round - 1, chunk, mine.length));
  }
  Step step = reduce_step(shape_, shape_.before(1), Buffer::kInput, Buffer::kOutput, part);
  step.completes = round + 2 == shape_.size;
  if (step.completes) {
    step.destination.offset = shape_.bytes(mine.offset);
  } else {
    const Part place = scratch(block, round, chunk, mine.length);
    step.destination = {Buffer::kScratch, shape_.bytes(place.offset)};
  }
  return step;
}

// --- all-gather ---

RingAllGather::RingAllGather(const Shape& shape) : shape_(shape), chunks_(shape.cut(shape.count)) {}

Step RingAllGather::at(uint64_t index) const {
  if (index == 0) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, shape_.rank * shape_.count},
                     shape_.count);
  }
  const uint64_t rest = index - 1;
  const uint64_t round = rest / (2 * chunks_.count());
  const Part chunk = chunks_.part(shape_.count, rest % (2 * chunks_.count()) / 2);
  const bool sends = rest % 2 == 0;
  if (sends && round == 0) return send_step(shape_, shape_.after(1), Buffer::kInput, chunk);
  const uint64_t segment = shape_.before(round + (sends ? 0 : 1));
  const Part part = {segment * shape_.count + chunk.offset, chunk.length};
  return sends ? send_step(shape_, shape_.after(1), Buffer::kOutput, part)
               : receive_step(shape_, shape_.before(1), Buffer::kOutput, part);
}

// --- chains ---

ChainBroadcast::ChainBroadcast(const Shape& shape)
    : shape_(shape), chunks_(shape.cut(shape.count)) {}

uint64_t ChainBroadcast::steps() const {
  const uint32_t place = shape_.from_root();
  if (place == 0) return shape_.size > 1 ? 1 + chunks_.count() : 1;
  return place + 1 == shape_.size ? chunks_.count() : 2 * chunks_.count();
}

Step ChainBroadcast::at(uint64_t index) const {
  const uint32_t place = shape_.from_root();
  if (place == 0) {
    if (index == chunks_.count() || shape_.size == 1) {
      return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
    }
    return send_step(shape_, shape_.after(1), Buffer::kInput, chunks_.part(shape_.count, index));
  }
  const bool last = place + 1 == shape_.size;
  const Part part = chunks_.part(shape_.count, last ? index : index / 2);
  if (last || index % 2 == 0) return receive_step(shape_, shape_.before(1), Buffer::kOutput, part);
  return send_step(shape_, shape_.after(1), Buffer::kOutput, part);
}

ChainReduce::ChainReduce(const Shape& shape)
    : shape_(shape),
      chunks_(shape.cut(shape.count)),
      place_((shape.from_root() + shape.size - 1) % shape.size) {}

uint64_t ChainReduce::steps() const {
  if (shape_.size == 1) return 1;
  return place_ == 0 || place_ + 1 == shape_.size ? chunks_.count() : 2 * chunks_.count();
}

uint64_t ChainReduce::scratch_bytes() const {
  const bool forwards = place_ != 0 && place_ + 1 != shape_.size;
  return forwards
             ? shape_.bytes(std::min(chunks_.count(), params::kForwardPlaces) * chunks_.longest())
             : 0;
}

Step ChainReduce::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  if (place_ == 0) {
    return send_step(shape_, shape_.after(1), Buffer::kInput, chunks_.part(shape_.count, index));
  }
  const bool last = place_ + 1 == shape_.size;
  const uint64_t chunk = last ? index : index / 2;
  const Part part = chunks_.part(shape_.count, chunk);
  const Part place = {chunk % params::kForwardPlaces * chunks_.longest(), part.length};
  if (!last && index % 2 == 1) {
    return send_step(shape_, shape_.after(1), Buffer::kScratch, place);
  }
  Step step = reduce_step(shape_, shape_.before(1), Buffer::kInput, Buffer::kOutput, part);
  step.received_first = true;
  step.completes = last;
  if (!last) step.destination = {Buffer::kScratch, shape_.bytes(place.offset)};
  return step;
}

}  // namespace heddle::collectives
