// Schedules with a root: see rooted.h.
#include "collectives/schedule/rooted.h"

#include <algorithm>

#include "collectives/params.h"

namespace heddle::collectives {
// --- straight ---

LinearGather::LinearGather(const Shape& shape)
    : shape_(shape), pieces_(pieces_of(shape.count, shape.message_count())) {}

Step LinearGather::at(uint64_t index) const {
  const Part piece = part_of(shape_.count, pieces_, index % pieces_);
  if (shape_.from_root() != 0) return send_step(shape_, shape_.root, Buffer::kInput, piece);
  const uint32_t peer = shape_.after(index / pieces_);
  const Part part = {peer * shape_.count + piece.offset, piece.length};
  if (peer == shape_.rank) {
    return copy_step(shape_, {Buffer::kInput, piece.offset}, {Buffer::kOutput, part.offset},
                     part.length);
  }
  return receive_step(shape_, peer, Buffer::kOutput, part);
}

LinearScatter::LinearScatter(const Shape& shape)
    : shape_(shape), pieces_(pieces_of(shape.count, shape.message_count())) {}

Step LinearScatter::at(uint64_t index) const {
  const Part piece = part_of(shape_.count, pieces_, index % pieces_);
  if (shape_.from_root() != 0) return receive_step(shape_, shape_.root, Buffer::kOutput, piece);
  const uint32_t peer = shape_.after(index / pieces_);
  const Part part = {peer * shape_.count + piece.offset, piece.length};
  if (peer == shape_.rank) {
    return copy_step(shape_, {Buffer::kInput, part.offset}, {Buffer::kOutput, piece.offset},
                     part.length);
  }
  return send_step(shape_, peer, Buffer::kInput, part);
}

// --- along a tree ---

BinomialNode::BinomialNode(uint32_t from_root, uint32_t size) : place_(from_root), size_(size) {
  for (uint32_t bit = 1; (place_ & bit) == 0 && place_ + bit < size; bit <<= 1) ++children_;
}

uint32_t BinomialNode::ranks_below(uint32_t place) const {
  return place == 0 ? size_ : std::min(place & (~place + 1), size_ - place);
}

BinomialGather::BinomialGather(const Shape& shape)
    : shape_(shape), node_(shape.from_root(), shape.size) {}

uint64_t BinomialGather::scratch_bytes() const {
  return shape_.bytes(node_.ranks_below(shape_.from_root()) * shape_.count);
}

Step BinomialGather::at(uint64_t index) const {
  const uint64_t count = shape_.count;
  if (index == 0) return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kScratch, 0}, count);
  --index;
  if (index < node_.children()) {
    const uint32_t child = node_.child(static_cast<uint32_t>(index));
    return receive_step(shape_, shape_.rank_at(child), Buffer::kScratch,
                        {(child - shape_.from_root()) * count, node_.ranks_below(child) * count});
  }
  index -= node_.children();
  if (!node_.root()) {
    return send_step(shape_, shape_.rank_at(node_.parent()), Buffer::kScratch,
                     {0, node_.ranks_below(shape_.from_root()) * count});
  }
  // The root's scratch begins with its own block; the ranks before it stand at the end.
  const uint64_t behind = shape_.size - shape_.root;
  return index == 0 ? copy_step(shape_, {Buffer::kScratch, 0},
                                {Buffer::kOutput, shape_.root * count}, behind * count)
                    : copy_step(shape_, {Buffer::kScratch, behind * count}, {Buffer::kOutput, 0},
                                shape_.root * count);
}

BinomialScatter::BinomialScatter(const Shape& shape)
    : shape_(shape), node_(shape.from_root(), shape.size) {}

uint64_t BinomialScatter::scratch_bytes() const {
  return shape_.bytes(node_.ranks_below(shape_.from_root()) * shape_.count);
}

Step BinomialScatter::at(uint64_t index) const {
  const uint64_t count = shape_.count;
  const uint64_t first = node_.root() ? 2 : 1;
  if (index < first && !node_.root()) {
    return receive_step(shape_, shape_.rank_at(node_.parent()), Buffer::kScratch,
                        {0, node_.ranks_below(shape_.from_root()) * count});
  }
  if (index < first) {
    const uint64_t behind = shape_.size - shape_.root;
    return index == 0 ? copy_step(shape_, {Buffer::kInput, shape_.root * count},
                                  {Buffer::kScratch, 0}, behind * count)
                      : copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kScratch, behind * count},
                                  shape_.root * count);
  }
  index -= first;
  if (index < node_.children()) {
    // The largest tree first: it takes longest.
    const uint32_t child = node_.child(node_.children() - 1 - static_cast<uint32_t>(index));
    return send_step(shape_, shape_.rank_at(child), Buffer::kScratch,
                     {(child - shape_.from_root()) * count, node_.ranks_below(child) * count});
  }
  return copy_step(shape_, {Buffer::kScratch, 0}, {Buffer::kOutput, 0}, count);
}

BinomialBroadcast::BinomialBroadcast(const Shape& shape)
    : shape_(shape),
      node_(shape.from_root(), shape.size),
      chunks_(shape.cut(shape.count)),
      row_(node_.children() + (node_.root() ? 0 : 1)) {}

Step BinomialBroadcast::at(uint64_t index) const {
  if (index == row_ * chunks_.count()) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const Part part = chunks_.part(shape_.count, index / row_);
  uint64_t message = index % row_;
  if (!node_.root()) {
    if (message == 0) {
      return receive_step(shape_, shape_.rank_at(node_.parent()), Buffer::kOutput, part);
    }
    --message;
  }
  const uint32_t child = node_.child(node_.children() - 1 - static_cast<uint32_t>(message));
  const Buffer from = node_.root() ? Buffer::kInput : Buffer::kOutput;
  return send_step(shape_, shape_.rank_at(child), from, part);
}

BinomialReduce::BinomialReduce(const Shape& shape)
    : shape_(shape),
      node_(shape.from_root(), shape.size),
      chunks_(shape.cut(shape.count)),
      row_(node_.children() + (node_.root() ? 0 : 1)) {}

uint64_t BinomialReduce::scratch_bytes() const {
  const bool forwards = !node_.root() && node_.children() > 0;
  return forwards
             ? shape_.bytes(std::min(chunks_.count(), params::kForwardPlaces) * chunks_.longest())
             : 0;
}

Step BinomialReduce::at(uint64_t index) const {
  if (shape_.size == 1) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  const uint64_t chunk = index / row_;
  const Part part = chunks_.part(shape_.count, chunk);
  const auto message = static_cast<uint32_t>(index % row_);
  Place sums = {Buffer::kOutput, shape_.bytes(part.offset)};
  if (!node_.root())
    sums = {Buffer::kScratch, shape_.bytes(chunk % params::kForwardPlaces * chunks_.longest())};
  if (message < node_.children()) {
    Step step = reduce_step(shape_, shape_.rank_at(node_.child(message)), Buffer::kInput,
                            Buffer::kOutput, part);
    if (message > 0) step.source = sums;
    step.destination = sums;
    step.completes = node_.root() && message + 1 == node_.children();
    return step;
  }
  Step step = send_step(shape_, shape_.rank_at(node_.parent()), Buffer::kInput, part);
  if (node_.children() > 0) step.source = sums;
  return step;
}

}  // namespace heddle::collectives
