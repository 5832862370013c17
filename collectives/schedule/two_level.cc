// All-reduce by rings on two levels: see two_level.h.
#include "collectives/schedule/two_level.h"

#include "base/check.h"
#include "collectives/params.h"

namespace heddle::collectives {

TwoLevelAllReduce::TwoLevelAllReduce(const Shape& shape, uint32_t group_ranks) : shape_(shape) {
  CHECK(group_ranks > 0 && shape.size % group_ranks == 0);
  if (shape.size == 1) return;
  const uint32_t groups = shape.size / group_ranks;
  inside_.size = group_ranks;
  inside_.place = shape.rank % group_ranks;
  const uint32_t first = shape.rank - inside_.place;
  inside_.next = first + (inside_.place + 1) % group_ranks;
  inside_.previous = first + inside_.before(1);
  across_.size = groups;
  across_.place = shape.rank / group_ranks;
  across_.next = shape.after(group_ranks);
  across_.previous = shape.before(group_ranks);

  blocks_ = pieces_of(shape.count, shape.size * params::kRingChunks * shape.chunk_count());
  const Part segment = part_of(part_of(shape.count, blocks_, 0), group_ranks, 0);
  inside_.chunks = shape.cut(segment.length);
  across_.chunks = shape.cut(part_of(segment, groups, 0).length);
}

// Round t of the first half sends segment p - t and reduces segment p - t - 1, so the rank at place
// p completes segment p + 1; round t of the second half sends segment p + 1 - t and receives p - t.
Step TwoLevelAllReduce::step_of(const Half& half, uint64_t index) const {
  const Level& level = half.level;
  const uint64_t round = index / (2 * level.chunks.count());
  const uint64_t chunk = index % (2 * level.chunks.count()) / 2;
  const bool sends = index % 2 == 0;
  const uint64_t distance = round + (sends ? 0 : 1) + (half.gathers ? level.size - 1 : 0);
  const Part segment = part_of(half.row, level.size, level.before(distance));
  const Part part = level.chunks.part(segment, chunk);
  if (sends) {
    const bool first = round == 0 && !half.gathers;
    Step step = send_step(shape_, level.next, first ? half.own : Buffer::kOutput, part);
    step.unasked = !half.requests_last || index + 2 < level.steps();
    return step;
  }
  if (half.gathers) return answer_step(shape_, level.previous, part);
  Step step = reduce_step(shape_, level.previous, half.own, Buffer::kOutput, part);
  step.completes = half.completes_sums && round + 2 == level.size;
  return step;
}

Step TwoLevelAllReduce::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const uint64_t number = index / steps_a_block();
  const bool last = number + 1 == blocks_;
  const Part block = part_of(shape_.count, blocks_, number);
  index %= steps_a_block();
  if (index < inside_.steps()) {
    return step_of({.level = inside_,
                    .row = block,
                    .own = Buffer::kInput,
                    .completes_sums = across_.size == 1},
                   index);
  }
  index -= inside_.steps();
  const Part mine = part_of(block, inside_.size, (inside_.place + 1) % inside_.size);
  if (index < across_.steps()) {
    return step_of({.level = across_,
                    .row = mine,
                    .own = inside_.size == 1 ? Buffer::kInput : Buffer::kOutput,
                    .completes_sums = true},
                   index);
  }
  index -= across_.steps();
  if (index < across_.steps()) {
    return step_of({.level = across_, .row = mine, .gathers = true, .requests_last = last}, index);
  }
  index -= across_.steps();
  return step_of({.level = inside_, .row = block, .gathers = true, .requests_last = last}, index);
}

}  // namespace heddle::collectives
