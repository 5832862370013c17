// See nccl_expected.h.
#include "insight/nccl_expected.h"

#include <algorithm>

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::Operation;

// The length of the `index`-th of `parts` parts of `total`; longer parts come first.
uint64_t part(uint64_t total, uint64_t parts, uint64_t index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

// Elements that `rank` sends to the next of the ring; nothing for calls that no ring carries.
std::optional<uint64_t> ring_elements(const CallShape& shape, const std::vector<uint32_t>& ring,
                                      size_t position, uint64_t count) {
  const size_t size = ring.size();
  const uint32_t next = ring[(position + 1) % size];
  switch (shape.operation) {
    case Operation::kAllreduce:
      // Each half sends all segments but one.
      return 2 * count - part(count, size, (position + 1) % size) -
             part(count, size, (position + 2) % size);
    case Operation::kAllgather:
    case Operation::kReducescatter:
      return (size - 1) * count;
    case Operation::kBroadcast:
      return next == shape.root ? 0 : count;
    case Operation::kReduce:
      return ring[position] == shape.root ? 0 : count;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Share>> nccl_expected_sends(const CallShape& shape, uint32_t rank,
                                                      const topology::NcclGraph& graph) {
  const bool ring = shape.algorithm == Algorithm::kRing;
  const bool tree = shape.algorithm == Algorithm::kTree;
  if ((!ring && !tree) || shape.size < 2) return expected_sends(shape, rank);
  const uint64_t width = element_bytes(shape.type);
  const bool sane = shape.size == graph.ranks && rank < graph.ranks && shape.root < graph.ranks &&
                    width > 0 && (ring ? graph.has_rings() : graph.has_trees());
  if (!sane || (tree && shape.operation != Operation::kAllreduce)) return std::nullopt;
  std::vector<Share> shares;
  const auto add = [&](uint32_t peer, uint64_t elements) {
    if (elements > 0) shares.push_back({peer, elements * width});
  };
  for (size_t c = 0; c < graph.channels.size(); ++c) {
    const topology::NcclChannel& channel = graph.channels[c];
    const uint64_t count = part(shape.count, graph.channels.size(), c);
    if (ring) {
      const auto at = std::find(channel.ring.begin(), channel.ring.end(), rank);
      const auto position = static_cast<size_t>(at - channel.ring.begin());
      const auto elements = ring_elements(shape, channel.ring, position, count);
      if (!elements) return std::nullopt;
      add(channel.ring[(position + 1) % channel.ring.size()], *elements);
      continue;
    }
    const topology::NcclTreeNode& node = channel.tree[rank];
    if (node.parent) add(*node.parent, count);
    for (const uint32_t child : node.children) add(child, count);
  }
  return shares;
}

}  // namespace heddle::insight
