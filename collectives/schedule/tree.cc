// Double binary tree: see tree.h.
#include "collectives/schedule/tree.h"

#include <algorithm>
#include <bit>

#include "collectives/params.h"

namespace heddle::collectives {
namespace {

// Nodes 1 to size - 1 form an in-order tree: a node's lowest set bit is its height, its children
// are half of that away on either side. Node 0 is the parent of the highest.
TreeNode ordered_node(uint32_t node, uint32_t size) {
  TreeNode found;
  const auto add = [&found](uint32_t child) { found.child[found.children++] = child; };
  if (node == 0) {
    if (size > 1) add(std::bit_floor(size - 1));
    return found;
  }
  const uint32_t height = node & (~node + 1);
  const uint32_t above = (node ^ height) | height << 1;
  found.parent = above < size ? above : node ^ height;
  if (height > 1) add(node - height / 2);
  for (uint32_t step = height / 2; step > 0; step /= 2) {
    if (node + step >= size) continue;
    add(node + step);
    break;
  }
  return found;
}

// The second tree counts ranks 1 to size - 1 from one further on: odd ones, which are the leaves,
// become even.
uint32_t to_second(uint32_t rank, uint32_t size) { return rank == 0 ? 0 : rank % (size - 1) + 1; }

uint32_t from_second(uint32_t node, uint32_t size) {
  return node == 0 ? 0 : (node + size - 3) % (size - 1) + 1;
}

}  // namespace

TreeNode tree_node(uint32_t tree, uint32_t from_root, uint32_t size) {
  if (tree == 0 || size < 3) return ordered_node(from_root, size);
  TreeNode node = ordered_node(to_second(from_root, size), size);
  if (node.parent != TreeNode::kNone) node.parent = from_second(node.parent, size);
  for (uint32_t i = 0; i < node.children; ++i) node.child[i] = from_second(node.child[i], size);
  return node;
}

DoubleTree::DoubleTree(const Shape& shape)
    : shape_(shape),
      reduces_(shape.collective != Collective::kBroadcast),
      spreads_(shape.collective != Collective::kReduce) {
  for (uint32_t tree = 0; tree < 2; ++tree) {
    TreeNode& node = nodes_[tree];
    node = tree_node(tree, shape_.from_root(), shape_.size);
    if (node.parent != TreeNode::kNone) node.parent = shape_.rank_at(node.parent);
    for (uint32_t i = 0; i < node.children; ++i) node.child[i] = shape_.rank_at(node.child[i]);
    ups_ += ups(tree);
    downs_ += downs(tree);
  }
  const bool at_root = shape_.from_root() == 0;
  copies_ = shape_.size == 1 || (at_root && !reduces_) ? 1 : 0;
  const Part half = part_of(shape_.count, 2, 0);
  chunks_ = shape_.cut(half.length);
  // It takes the whole height up and down until the first chunk is back.
  const uint64_t height = std::bit_width(shape_.size);
  lead_ = reduces_ && spreads_ ? std::min(chunks_.count(), height) : 0;
}

uint64_t DoubleTree::ups(uint32_t tree) const {
  const TreeNode& node = nodes_[tree];
  return reduces_ ? node.children + (node.parent != TreeNode::kNone ? 1 : 0) : 0;
}

uint64_t DoubleTree::downs(uint32_t tree) const {
  const TreeNode& node = nodes_[tree];
  return spreads_ ? node.children + (node.parent != TreeNode::kNone ? 1 : 0) : 0;
}

// An inner node that keeps no result holds some partial sums here.
uint64_t DoubleTree::scratch_bytes() const {
  const bool inner = nodes_[0].children + nodes_[1].children > 0;
  if (!inner || spreads_ || shape_.from_root() == 0) return 0;
  return shape_.bytes(2 * std::min(chunks_.count(), params::kTreePlaces) * chunks_.longest());
}

Part DoubleTree::chunk(uint32_t tree, uint64_t chunk) const {
  return chunks_.part(part_of(shape_.count, 2, tree), chunk);
}

Step DoubleTree::at(uint64_t index) const {
  if (index < copies_) {
    return copy_step(shape_, {Buffer::kInput, 0}, {Buffer::kOutput, 0}, shape_.count);
  }
  index -= copies_;
  if (index < lead_ * ups_) return up(index % ups_, index / ups_);
  index -= lead_ * ups_;
  const uint64_t both = ups_ + downs_;
  if (index < (chunks_.count() - lead_) * both) {
    const uint64_t row = index / both;
    const uint64_t rest = index % both;
    return rest < ups_ ? up(rest, row + lead_) : down(rest - ups_, row);
  }
  index -= (chunks_.count() - lead_) * both;
  return down(index % downs_, chunks_.count() - lead_ + index / downs_);
}

Step DoubleTree::up(uint64_t index, uint64_t chunk_index) const {
  const uint32_t tree = index < ups(0) ? 0 : 1;
  if (tree == 1) index -= ups(0);
  const TreeNode& node = nodes_[tree];
  const Part part = chunk(tree, chunk_index);
  Place sums = {Buffer::kOutput, shape_.bytes(part.offset)};
  if (scratch_bytes() > 0) {
    sums = {Buffer::kScratch,
            shape_.bytes((2 * (chunk_index % params::kTreePlaces) + tree) * chunks_.longest())};
  }
  Step step;
  if (index < node.children) {
    step = reduce_step(shape_, node.child[index], Buffer::kInput, Buffer::kOutput, part);
    if (index > 0) step.source = sums;
    step.destination = sums;
    step.completes = node.parent == TreeNode::kNone && index + 1 == node.children;
  } else {
    step = send_step(shape_, node.parent, Buffer::kInput, part);
    if (node.children > 0) step.source = sums;
  }
  step.channel = static_cast<uint8_t>(tree);
  return step;
}

Step DoubleTree::down(uint64_t index, uint64_t chunk_index) const {
  const uint32_t tree = index < downs(0) ? 0 : 1;
  if (tree == 1) index -= downs(0);
  const TreeNode& node = nodes_[tree];
  const Part part = chunk(tree, chunk_index);
  const bool receives = node.parent != TreeNode::kNone;
  Step step;
  if (receives && index == 0) {
    step = receive_step(shape_, node.parent, Buffer::kOutput, part);
    step.answers = reduces_;
  } else {
    const Buffer from = receives || reduces_ ? Buffer::kOutput : Buffer::kInput;
    step = send_step(shape_, node.child[index - (receives ? 1 : 0)], from, part);
  }
  step.channel = static_cast<uint8_t>(tree);
  return step;
}

}  // namespace heddle::collectives
