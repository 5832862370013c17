// Recursive doubling and halving-doubling: see doubling.h.
#include "collectives/schedule/doubling.h"

#include <algorithm>
#include <bit>

namespace heddle::collectives {
namespace {

// The lowest `bits` bits of `number` in the other order.
uint32_t mirrored(uint32_t number, uint32_t bits) {
  uint32_t other = 0;
  for (uint32_t bit = 0; bit < bits; ++bit) other |= (number >> bit & 1) << (bits - 1 - bit);
  return other;
}

}  // namespace

Fold::Fold(uint32_t rank, uint32_t size)
    : folded_(std::bit_floor(size)),
      rounds_(static_cast<uint32_t>(std::bit_width(size)) - 1),
      extra_(size - std::bit_floor(size)) {
  const bool paired = rank < 2 * extra_;
  hands_over_ = paired && rank % 2 == 1;
  takes_over_ = paired && rank % 2 == 0;
  position_ = paired ? rank / 2 : rank - extra_;
}

// --- recursive doubling ---

RecursiveDoubling::RecursiveDoubling(const Shape& shape)
    : shape_(shape), fold_(shape.rank, shape.size), chunks_(shape.cut(shape.count)) {}

uint64_t RecursiveDoubling::steps() const {
  if (shape_.size == 1) return 1;
  if (fold_.hands_over()) return 2 * chunks_.count();
  return (2 * uint64_t{fold_.rounds()} + (fold_.takes_over() ? 2 : 0)) * chunks_.count();
}

uint64_t RecursiveDoubling::scratch_bytes() const {
  const bool alternates = fold_.rounds() + (fold_.takes_over() ? 1 : 0) > 1;
  return alternates && !fold_.hands_over() ? shape_.bytes(shape_.count) : 0;
}

// The last round's are the result.
Buffer RecursiveDoubling::sums_of(uint32_t round) const {
  return (fold_.rounds() - round) % 2 == 1 ? Buffer::kOutput : Buffer::kScratch;
}

Buffer RecursiveDoubling::before(uint32_t round) const {
  if (round > 0) return sums_of(round - 1);
  if (!fold_.takes_over()) return Buffer::kInput;
  return fold_.rounds() % 2 == 1 ? Buffer::kScratch : Buffer::kOutput;
}

Step RecursiveDoubling::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const auto part = [this](uint64_t chunk) { return chunks_.part(shape_.count, chunk); };
  if (fold_.hands_over()) {
    const uint32_t partner = shape_.rank - 1;
    return index < chunks_.count() ? send_step(shape_, partner, Buffer::kInput, part(index))
                                   : answer_step(shape_, partner, part(index - chunks_.count()));
  }
  if (fold_.takes_over()) {
    const uint32_t partner = shape_.rank + 1;
    if (index < chunks_.count()) {
      return reduce_step(shape_, partner, Buffer::kInput, before(0), part(index));
    }
    index -= chunks_.count();
    const uint64_t in_rounds = 2 * uint64_t{fold_.rounds()} * chunks_.count();
    if (index >= in_rounds) {
      return send_step(shape_, partner, Buffer::kOutput, part(index - in_rounds));
    }
  }
  const auto round = static_cast<uint32_t>(index / (2 * chunks_.count()));
  const uint64_t chunk = index % (2 * chunks_.count()) / 2;
  const uint32_t other = fold_.position() ^ (1U << round);
  const uint32_t peer = fold_.rank_of(other);
  if (index % 2 == 0) return send_step(shape_, peer, before(round), part(chunk));
  Step step = reduce_step(shape_, peer, before(round), sums_of(round), part(chunk));
  step.received_first = other < fold_.position();
  step.completes = round + 1 == fold_.rounds();
  return step;
}

// --- halving-doubling ---

HalvingDoubling::HalvingDoubling(const Shape& shape)
    : shape_(shape),
      fold_(shape.rank, shape.size),
      chunks_(shape.cut(shape.count)),
      place_(mirrored(fold_.position(), fold_.rounds())) {
  if (shape_.size == 1) {
    steps_ = 1;
    return;
  }
  if (fold_.hands_over() || fold_.takes_over()) steps_ = 2 * chunks_.count();
  if (fold_.hands_over()) return;
  for (uint32_t i = 0; i < 2 * fold_.rounds(); ++i) {
    const Round round = round_at(i);
    steps_ += round.sent_chunks.count() + round.received_chunks.count();
  }
}

Part HalvingDoubling::range(uint32_t from, uint32_t to) const {
  const Part first = part_of(shape_.count, fold_.folded(), from);
  const Part last = part_of(shape_.count, fold_.folded(), to - 1);
  return {first.offset, last.offset + last.length - first.offset};
}

// The first rounds halve: with the place half of the group away, each keeps its own half. The
// others double: the same exchanges backwards. The largest are between neighbours, who share a host
// or a switch more often than those far away do: a place is a position with its bits mirrored.
HalvingDoubling::Round HalvingDoubling::round_at(uint32_t number) const {
  const bool halves = number < fold_.rounds();
  const uint32_t step = halves ? fold_.rounds() - 1 - number : number - fold_.rounds();
  const uint32_t distance = 1U << step;
  const uint32_t other = place_ ^ distance;
  const uint32_t mine = place_ & ~(distance - 1);  // the first of the group's half
  const uint32_t theirs = other & ~(distance - 1);
  Round round;
  round.peer = fold_.rank_of(mirrored(other, fold_.rounds()));
  round.peer_is_lower = round.peer < shape_.rank;
  round.sent = halves ? range(theirs, theirs + distance) : range(mine, mine + distance);
  round.received = halves ? range(mine, mine + distance) : range(theirs, theirs + distance);
  round.sent_chunks = shape_.cut(round.sent.length);
  round.received_chunks = shape_.cut(round.received.length);
  return round;
}

Step HalvingDoubling::exchange(const Round& round, uint32_t number, uint64_t index) const {
  const uint64_t sent = round.sent_chunks.count();
  const uint64_t received = round.received_chunks.count();
  const uint64_t both = 2 * std::min(sent, received);
  const bool sends = index < both ? index % 2 == 0 : sent > received;
  const uint64_t chunk = index < both ? index / 2 : index - both / 2;
  const bool untouched = number == 0 && !fold_.takes_over();
  const Buffer from = untouched ? Buffer::kInput : Buffer::kOutput;
  if (sends) {
    Step step = send_step(shape_, round.peer, from, round.sent_chunks.part(round.sent, chunk));
    step.unasked = number < fold_.rounds() || chunk + 1 < sent;
    return step;
  }
  const Part part = round.received_chunks.part(round.received, chunk);
  if (number >= fold_.rounds()) return answer_step(shape_, round.peer, part);
  Step step = reduce_step(shape_, round.peer, from, Buffer::kOutput, part);
  step.received_first = round.peer_is_lower;
  step.completes = number + 1 == fold_.rounds();
  return step;
}

Step HalvingDoubling::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const auto part = [this](uint64_t chunk) { return chunks_.part(shape_.count, chunk); };
  if (fold_.hands_over()) {
    const uint32_t partner = shape_.rank - 1;
    if (index < chunks_.count()) return send_step(shape_, partner, Buffer::kInput, part(index));
    return answer_step(shape_, partner, part(index - chunks_.count()));
  }
  if (fold_.takes_over()) {
    const uint32_t partner = shape_.rank + 1;
    if (index < chunks_.count()) {
      return reduce_step(shape_, partner, Buffer::kInput, Buffer::kOutput, part(index));
    }
    const uint64_t back = steps_ - chunks_.count();
    if (index >= back) return send_step(shape_, partner, Buffer::kOutput, part(index - back));
    index -= chunks_.count();
  }
  for (uint32_t number = 0;; ++number) {
    const Round round = round_at(number);
    const uint64_t steps = round.sent_chunks.count() + round.received_chunks.count();
    if (index < steps) return exchange(round, number, index);
    index -= steps;
  }
}

}  // namespace heddle::collectives
