// See expected.h. Ranks of rooted calls are numbered from the root ("place") where that is simpler.
#include "insight/expected.h"

#include <algorithm>
#include <array>
#include <bit>

#include "insight/params.h"

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::Operation;

constexpr uint32_t kNone = UINT32_MAX;

// The length of the `index`-th of `parts` parts of `total`; longer parts come first.
uint64_t part(uint64_t total, uint64_t parts, uint64_t index) {
  return total / parts + (index < total % parts ? 1 : 0);
}
uint64_t part_offset(uint64_t total, uint64_t parts, uint64_t index) {
  return total / parts * index + std::min(index, total % parts);
}

// Reverses the bits of a number below `size`, a power of two.
uint32_t mirrored(uint32_t number, uint32_t size) {
  uint32_t other = 0;
  for (uint32_t bit = 1; bit < size; bit *= 2) {
    if ((number & bit) != 0) other += size / 2 / bit;
  }
  return other;
}

struct TreeNode {
  uint32_t parent = kNone;
  std::vector<uint32_t> children;
};

// Nodes 1 to size - 1 are in order; the height of a node is its lowest set bit. Node 0 is the root.
TreeNode ordered_node(uint32_t node, uint32_t size) {
  TreeNode found;
  if (node == 0) {
    if (size > 1) found.children.push_back(std::bit_floor(size - 1));
    return found;
  }
  const uint32_t height = node & (~node + 1);
  const uint32_t above = (node ^ height) | height << 1;
  found.parent = above < size ? above : node ^ height;
  if (height > 1) found.children.push_back(node - height / 2);
  for (uint32_t step = height / 2; step > 0; step /= 2) {
    if (node + step >= size) continue;
    found.children.push_back(node + step);
    break;
  }
  return found;
}

// In the second tree, ranks 1 to size - 1 are shifted by one position.
TreeNode tree_node(uint32_t tree, uint32_t place, uint32_t size) {
  if (tree == 0 || size < 3) return ordered_node(place, size);
  const auto back = [size](uint32_t node) {
    return node == 0 ? 0 : (node + size - 3) % (size - 1) + 1;
  };
  TreeNode node = ordered_node(place == 0 ? 0 : place % (size - 1) + 1, size);
  if (node.parent != kNone) node.parent = back(node.parent);
  for (uint32_t& child : node.children) child = back(child);
  return node;
}

// The sends of one rank in one call.
class Sends {
 public:
  Sends(const CallShape& shape, uint32_t rank)
      : shape_(shape),
        rank_(rank),
        width_(element_bytes(shape.type)),
        place_((rank + shape.size - shape.root) % shape.size) {}

  bool find() {
    switch (shape_.algorithm) {
      case Algorithm::kRing:
        return ring();
      case Algorithm::kTree:
        return double_tree();
      case Algorithm::kRecursiveDoubling:
      case Algorithm::kHalvingDoubling:
        return doubling();
      case Algorithm::kBinomial:
        return binomial();
      case Algorithm::kPairwise:
        return pairwise();
      case Algorithm::kBruck:
        return bruck();
      case Algorithm::kLinear:
        return linear();
      case Algorithm::kDissemination:
        return dissemination();
      case Algorithm::kTwoLevel:
        return two_level();
      default:  // NCCL's
        return false;
    }
  }
  std::vector<Share> take() { return std::move(shares_); }

 private:
  uint32_t after(uint64_t distance) const {
    return static_cast<uint32_t>((rank_ + distance) % shape_.size);
  }
  uint32_t before(uint64_t distance) const {
    return static_cast<uint32_t>((rank_ + shape_.size - distance % shape_.size) % shape_.size);
  }
  uint32_t rank_at(uint32_t place) const { return (place + shape_.root) % shape_.size; }
  void add(uint32_t peer, uint64_t elements) { shares_.push_back({peer, elements * width_}); }

  bool ring() {
    const uint32_t last = shape_.size - 1;
    switch (shape_.operation) {
      case Operation::kAllreduce:
        return rings(shape_.size);
      case Operation::kAllgather:
      case Operation::kReducescatter:
        add(after(1), last * shape_.count);
        return true;
      case Operation::kBroadcast:
        if (place_ != last) add(after(1), shape_.count);
        return true;
      case Operation::kReduce:
        if (place_ != 0) add(after(1), shape_.count);
        return true;
      default:
        return false;
    }
  }

  bool two_level() {
    const uint32_t group = shape_.group_ranks;
    if (shape_.operation != Operation::kAllreduce || group == 0) return false;
    return shape_.size % group == 0 && rings(group);
  }

  // An all-reduce by rings inside groups and across them; one group: a plain ring. The data is
  // processed in blocks, each with its own segments.
  bool rings(uint32_t group) {
    const uint64_t chunk = std::max<uint64_t>(1, shape_.chunk_bytes / width_);
    const uint64_t most = shape_.size * params::kChunksTogether * chunk;
    const uint64_t blocks = shape_.count == 0 ? 1 : (shape_.count - 1) / most + 1;
    const uint64_t longer = shape_.count % blocks;
    const uint64_t each = shape_.count / blocks;
    const uint32_t place = rank_ % group;
    const uint32_t next = rank_ - place + (place + 1) % group;
    const uint32_t groups = shape_.size / group;
    const auto mine = [&](uint64_t block) { return part(block, group, (place + 1) % group); };
    if (group > 1) {
      add(next, longer * in_ring(each + 1, group, place) +
                    (blocks - longer) * in_ring(each, group, place));
    }
    if (groups > 1) {
      add(after(group), longer * in_ring(mine(each + 1), groups, rank_ / group) +
                            (blocks - longer) * in_ring(mine(each), groups, rank_ / group));
    }
    return true;
  }

  // What the rank at `place` sends in a ring: each half is all segments but one.
  static uint64_t in_ring(uint64_t elements, uint32_t ranks, uint32_t place) {
    return 2 * elements - part(elements, ranks, (place + 1) % ranks) -
           part(elements, ranks, (place + 2) % ranks);
  }

  bool double_tree() {
    const bool reduces = shape_.operation != Operation::kBroadcast;
    const bool spreads = shape_.operation != Operation::kReduce;
    if (reduces && spreads && shape_.operation != Operation::kAllreduce) return false;
    for (uint32_t tree = 0; tree < 2; ++tree) {
      const TreeNode node = tree_node(tree, place_, shape_.size);
      const uint64_t half = part(shape_.count, 2, tree);
      if (reduces && node.parent != kNone) add(rank_at(node.parent), half);
      if (!spreads) continue;
      for (const uint32_t child : node.children) add(rank_at(child), half);
    }
    return true;
  }

  // Where the size is not a power of two, the first ranks are folded in pairs.
  bool doubling() {
    if (shape_.operation != Operation::kAllreduce) return false;
    const uint32_t folded = std::bit_floor(shape_.size);
    const uint32_t extra = shape_.size - folded;
    const bool paired = rank_ < 2 * extra;
    if (paired && rank_ % 2 == 1) {
      add(rank_ - 1, shape_.count);
      return true;
    }
    if (paired) add(rank_ + 1, shape_.count);
    const uint32_t position = paired ? rank_ / 2 : rank_ - extra;
    const auto rank_of = [extra](uint32_t at) { return at < extra ? 2 * at : at + extra; };
    for (uint32_t distance = 1; distance < folded; distance *= 2) {
      const uint32_t other = position ^ distance;
      if (shape_.algorithm == Algorithm::kRecursiveDoubling) {
        add(rank_of(other), shape_.count);
        continue;
      }
      // Halving sends the other's half, doubling sends what this rank has gathered so far.
      // Neighbors exchange the most: the parts are ordered by mirrored positions.
      const auto group = [&](uint32_t at) {
        const uint32_t parts = folded / 2 / distance;
        const uint32_t first = mirrored(at, folded) & ~(parts - 1);
        return part_offset(shape_.count, folded, first + parts) -
               part_offset(shape_.count, folded, first);
      };
      add(rank_of(other), group(other) + group(position));
    }
    return true;
  }

  // The number of ranks in the subtree of a place, itself included.
  uint32_t below(uint32_t place) const {
    return place == 0 ? shape_.size : std::min(place & (~place + 1), shape_.size - place);
  }

  bool binomial() {
    const uint32_t parent = rank_at(place_ & (place_ - 1));
    const bool root = place_ == 0;
    if (shape_.operation == Operation::kReduce || shape_.operation == Operation::kGather) {
      const bool all = shape_.operation == Operation::kGather;
      if (!root) add(parent, (all ? below(place_) : 1) * shape_.count);
      return true;
    }
    if (shape_.operation != Operation::kBroadcast && shape_.operation != Operation::kScatter) {
      return false;
    }
    for (uint32_t bit = 1; (place_ & bit) == 0 && place_ + bit < shape_.size; bit <<= 1) {
      const bool each = shape_.operation == Operation::kScatter;
      add(rank_at(place_ + bit), (each ? below(place_ + bit) : 1) * shape_.count);
    }
    return true;
  }

  bool pairwise() {
    if (shape_.operation != Operation::kAlltoall && shape_.operation != Operation::kReducescatter) {
      return false;
    }
    for (uint32_t peer = 0; peer < shape_.size; ++peer) {
      if (peer != rank_) add(peer, shape_.count);
    }
    return true;
  }

  bool bruck() {
    for (uint64_t distance = 1; distance < shape_.size; distance *= 2) {
      if (shape_.operation == Operation::kAllgather) {
        add(before(distance), std::min(distance, shape_.size - distance) * shape_.count);
      } else if (shape_.operation == Operation::kAlltoall) {
        const uint64_t rest = shape_.size % (2 * distance);
        const uint64_t blocks =
            shape_.size / (2 * distance) * distance + (rest > distance ? rest - distance : 0);
        add(after(distance), blocks * shape_.count);
      } else {
        return false;
      }
    }
    return true;
  }

  bool linear() {
    switch (shape_.operation) {
      case Operation::kGather:
        if (place_ != 0) add(shape_.root, shape_.count);
        return true;
      case Operation::kScatter:
        for (uint32_t peer = 0; place_ == 0 && peer < shape_.size; ++peer) {
          if (peer != rank_) add(peer, shape_.count);
        }
        return true;
      case Operation::kSend:
        if (shape_.root != rank_) add(shape_.root, shape_.count);
        return true;
      case Operation::kRecv:
        return true;
      default:
        return false;
    }
  }

  // One byte in each round.
  bool dissemination() {
    if (shape_.operation != Operation::kBarrier) return false;
    for (uint64_t distance = 1; distance < shape_.size; distance *= 2) {
      shares_.push_back({after(distance), 1});
    }
    return true;
  }

  const CallShape shape_;
  const uint32_t rank_;
  const uint32_t width_;
  const uint32_t place_;
  std::vector<Share> shares_;
};

}  // namespace

uint32_t element_bytes(events::ElementType type) {
  constexpr std::array<uint8_t, events::kElementTypeCount> kBytes = {1, 1, 4, 4, 8, 8, 2, 2,
                                                                     4, 8, 2, 2, 1, 1, 0};
  const auto index = static_cast<size_t>(type);
  return index < kBytes.size() ? kBytes[index] : 0;
}

Algorithm least_algorithm(Operation operation) {
  switch (operation) {
    case Operation::kAlltoall:
    case Operation::kAlltoallv:
      return Algorithm::kPairwise;
    case Operation::kBarrier:
      return Algorithm::kDissemination;
    case Operation::kSend:
    case Operation::kRecv:
    case Operation::kGather:
    case Operation::kScatter:
      return Algorithm::kLinear;
    default:
      return Algorithm::kRing;
  }
}

std::optional<std::vector<Share>> expected_sends(const CallShape& shape, uint32_t rank) {
  const bool sane = shape.size > 0 && shape.size <= params::kMostExpectedRanks &&
                    rank < shape.size && shape.root < shape.size && element_bytes(shape.type) > 0;
  if (!sane || shape.operation == Operation::kAlltoallv) return std::nullopt;
  if (shape.size == 1) return std::vector<Share>();
  Sends sends(shape, rank);
  if (!sends.find()) return std::nullopt;
  return sends.take();
}

}  // namespace heddle::insight
