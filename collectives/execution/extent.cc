// Extents: see extent.h.
#include "collectives/execution/extent.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace heddle::collectives {
namespace {

uint64_t reach(const std::vector<uint64_t>& offsets, const std::vector<uint64_t>& counts) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) end = std::max(end, offsets[i] + counts[i]);
  }
  return end;
}

}  // namespace

uint64_t input_bytes(const Call& call, uint32_t size, uint32_t rank) {
  const uint64_t block = call.count * size_of(call.type);
  switch (call.collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kSend:
      return block;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return block * size;
    case Collective::kBroadcast:
      return rank == call.root ? block : 0;
    case Collective::kScatter:
      return rank == call.root ? block * size : 0;
    case Collective::kAllToAllV:
      return reach(call.exchange.send_offsets, call.exchange.send_counts) * size_of(call.type);
    case Collective::kBarrier:
    case Collective::kReceive:
      return 0;
  }
  return 0;
}

uint64_t output_bytes(const Call& call, uint32_t size, uint32_t rank) {
  const uint64_t block = call.count * size_of(call.type);
  switch (call.collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
    case Collective::kBroadcast:
    case Collective::kScatter:
    case Collective::kReceive:
      return block;
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return block * size;
    case Collective::kReduce:
      return rank == call.root ? block : 0;
    case Collective::kGather:
      return rank == call.root ? block * size : 0;
    case Collective::kAllToAllV:
      return reach(call.exchange.receive_offsets, call.exchange.receive_counts) *
             size_of(call.type);
    case Collective::kBarrier:
    case Collective::kSend:
      return 0;
  }
  return 0;
}

}  // namespace heddle::collectives
