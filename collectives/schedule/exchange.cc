// Schedules of exchanges: see exchange.h.
#include "collectives/schedule/exchange.h"

#include <algorithm>
#include <bit>

#include "collectives/params.h"

namespace heddle::collectives {
namespace {

// Rounds in which distances double until they reach the size.
uint32_t doublings(uint32_t size) { return static_cast<uint32_t>(std::bit_width(size - 1)); }

}  // namespace

// --- pairwise ---

PairwiseAllToAll::PairwiseAllToAll(const Shape& shape)
    : shape_(shape),
      moves_(shape.in_place ? 3 : 2),
      pieces_(shape.in_place ? shape.cut(shape.count)
                             : Cut(shape.count, shape.message_count(), 1)) {}

uint64_t PairwiseAllToAll::scratch_bytes() const {
  return shape_.in_place ? shape_.bytes(params::kExchangePlaces * pieces_.longest()) : 0;
}

Step PairwiseAllToAll::at(uint64_t index) const {
  const uint64_t turn = index / moves_;
  const uint64_t move = index % moves_;
  const Part piece = pieces_.part(shape_.count, turn % pieces_.count());
  const auto peer =
      static_cast<uint32_t>((turn / pieces_.count() + shape_.size - shape_.rank) % shape_.size);
  const Part part = {peer * shape_.count + piece.offset, piece.length};
  if (peer == shape_.rank) {
    // Every turn has as many steps; here the first does it all.
    return copy_step(shape_, {Buffer::kInput, part.offset}, {Buffer::kOutput, part.offset},
                     move == 0 ? part.length : 0);
  }
  if (move == 0) return send_step(shape_, peer, Buffer::kInput, part);
  const Part place = {turn % params::kExchangePlaces * pieces_.longest(), part.length};
  if (move == 2) {
    return copy_step(shape_, {Buffer::kScratch, place.offset}, {Buffer::kOutput, part.offset},
                     part.length);
  }
  return shape_.in_place ? receive_step(shape_, peer, Buffer::kScratch, place)
                         : receive_step(shape_, peer, Buffer::kOutput, part);
}

Step PairwiseAllToAllV::at(uint64_t index) const {
  const Exchange& exchange = shape_.exchange;
  const auto peer = static_cast<uint32_t>((index / 2 + shape_.size - shape_.rank) % shape_.size);
  const Part sent = {exchange.send_offsets[peer], exchange.send_counts[peer]};
  const Part received = {exchange.receive_offsets[peer], exchange.receive_counts[peer]};
  const bool first = index % 2 == 0;
  if (peer == shape_.rank) {
    return copy_step(shape_, {Buffer::kInput, sent.offset}, {Buffer::kOutput, received.offset},
                     first ? sent.length : 0);
  }
  return first ? send_step(shape_, peer, Buffer::kInput, sent)
               : receive_step(shape_, peer, Buffer::kOutput, received);
}

PairwiseReduceScatter::PairwiseReduceScatter(const Shape& shape)
    : shape_(shape), pieces_(shape.cut(shape.count)) {}

uint64_t PairwiseReduceScatter::steps() const {
  return shape_.size == 1 ? 1 : 2 * (uint64_t{shape_.size} - 1) * pieces_.count();
}

Step PairwiseReduceScatter::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const uint64_t round = index / (2 * pieces_.count());
  const Part piece = pieces_.part(shape_.count, index % (2 * pieces_.count()) / 2);
  if (index % 2 == 0) {
    const uint32_t peer = shape_.after(1 + round);
    return send_step(shape_, peer, Buffer::kInput,
                     {peer * shape_.count + piece.offset, piece.length});
  }
  Step step =
      reduce_step(shape_, shape_.before(1 + round), Buffer::kOutput, Buffer::kOutput, piece);
  if (round == 0) {
    step.source = {Buffer::kInput, shape_.bytes(shape_.rank * shape_.count + piece.offset)};
  }
  step.completes = round + 2 == shape_.size;
  return step;
}

// --- Bruck's all-to-all ---
// Scratch: `size` blocks in the order of their distance, then the blocks that a round sends, then
// those that it receives.

BruckAllToAll::BruckAllToAll(const Shape& shape)
    : shape_(shape), rounds_(shape.size == 1 ? 0 : doublings(shape.size)) {
  steps_ = 2 * uint64_t{shape_.size};
  for (uint32_t round = 0; round < rounds_; ++round) steps_ += 2 * blocks_in(round) + 2;
}

uint64_t BruckAllToAll::scratch_bytes() const {
  return shape_.bytes((2 * uint64_t{shape_.size} + 2) * shape_.count);
}

// Of the numbers below the size, those with this bit.
uint32_t BruckAllToAll::blocks_in(uint32_t round) const {
  const uint32_t bit = 1U << round;
  const uint32_t rest = shape_.size % (2 * bit);
  return shape_.size / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
}

uint32_t BruckAllToAll::block_at(uint32_t round, uint32_t index) const {
  const uint32_t bit = 1U << round;
  return index / bit * 2 * bit + bit + index % bit;
}

Step BruckAllToAll::in_round(uint32_t round, uint32_t index) const {
  const uint32_t blocks = blocks_in(round);
  const uint64_t outgoing = shape_.size * shape_.count;
  const uint64_t incoming = outgoing + (shape_.size / 2 + 1) * shape_.count;
  const auto block = [&](uint32_t i) {
    return Spot{Buffer::kScratch, block_at(round, i) * shape_.count};
  };
  if (index < blocks) {
    return copy_step(shape_, block(index), {Buffer::kScratch, outgoing + index * shape_.count},
                     shape_.count);
  }
  index -= blocks;
  const uint32_t distance = 1U << round;
  if (index == 0) {
    return send_step(shape_, shape_.after(distance), Buffer::kScratch,
                     {outgoing, blocks * shape_.count});
  }
  if (index == 1) {
    return receive_step(shape_, shape_.before(distance), Buffer::kScratch,
                        {incoming, blocks * shape_.count});
  }
  index -= 2;
  return copy_step(shape_, {Buffer::kScratch, incoming + index * shape_.count}, block(index),
                   shape_.count);
}

Step BruckAllToAll::at(uint64_t index) const {
  const uint64_t count = shape_.count;
  if (index < shape_.size) {
    return copy_step(shape_, {Buffer::kInput, shape_.after(index) * count},
                     {Buffer::kScratch, index * count}, count);
  }
  index -= shape_.size;
  for (uint32_t round = 0; round < rounds_; ++round) {
    const uint64_t steps = 2 * blocks_in(round) + 2;
    if (index < steps) return in_round(round, static_cast<uint32_t>(index));
    index -= steps;
  }
  return copy_step(shape_, {Buffer::kScratch, index * count},
                   {Buffer::kOutput, shape_.before(index) * count}, count);
}

// --- Bruck's all-gather ---
// Scratch: block i is that of the rank i behind this one.

BruckAllGather::BruckAllGather(const Shape& shape)
    : shape_(shape), rounds_(shape.size == 1 ? 0 : doublings(shape.size)) {}

Step BruckAllGather::at(uint64_t index) const {
  const uint64_t count = shape_.count;
  if (index == 0) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kScratch, 0}, count);
  }
  --index;
  if (index < 2 * rounds_) {
    const uint64_t distance = uint64_t{1} << index / 2;
    const uint64_t blocks = std::min(distance, shape_.size - distance);
    if (index % 2 == 0) {
      return send_step(shape_, shape_.before(distance), Buffer::kScratch, {0, blocks * count});
    }
    return receive_step(shape_, shape_.after(distance), Buffer::kScratch,
                        {distance * count, blocks * count});
  }
  const uint64_t behind = shape_.size - shape_.rank;  // blocks from this rank to the last
  if (index == 2 * rounds_) {
    return copy_step(shape_, {Buffer::kScratch, 0}, {Buffer::kOutput, shape_.rank * count},
                     behind * count);
  }
  return copy_step(shape_, {Buffer::kScratch, behind * count}, {Buffer::kOutput, 0},
                   shape_.rank * count);
}

}  // namespace heddle::collectives
