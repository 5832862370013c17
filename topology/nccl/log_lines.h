// Lines of NCCL's log that name rings and trees, parsed one at a time. NcclGraphReader puts them
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topology/nccl_graph.h"
#include "topology/params.h"

namespace heddle::topology {

// The bounds of what is read; NCCL has up to 64 channels.
inline constexpr uint32_t kMostNcclRanks = params::kMostNcclRanks;
inline constexpr uint32_t kMostNcclChannels = 64;

// "comm 0x5581 rank 3 nRanks 8 nNodes 2 …": what the following lines of the same thread are of.
struct NcclCommunicatorLine {
  uint32_t rank = 0;
  uint32_t ranks = 0;
};
// "Channel 00/02 : 0 1 2 3", of rank 0. `ring` is empty where NCCL cut the line.
struct NcclChannelLine {
  uint32_t channel = 0;
  std::vector<uint32_t> ring;
};
// "Ring 00 : 3 -> 0 -> 1", of every rank.
struct NcclRingLine {
  uint32_t channel = 0;
  uint32_t rank = 0;
  uint32_t next = 0;
};
// "Trees [0] 1/-1/-1->0->-1 [1] …", of every rank: children, rank and parent by channel.
struct NcclTreesLine {
  struct Entry {
    uint32_t channel = 0;
    uint32_t rank = 0;
    NcclTreeNode node;
  };
  std::vector<Entry> entries;
};
// What only looks like one of the above.
struct NcclWrongLine {
  std::string why;
};

using NcclLine = std::variant<std::monostate, NcclCommunicatorLine, NcclChannelLine, NcclRingLine,
                              NcclTreesLine, NcclWrongLine>;

// `thread`: the process and thread that wrote the line ("host:pid:tid"), for which lines are in
// order; empty: the line has none.
struct NcclLogLine {
  std::string_view thread;
  NcclLine line;
};
NcclLogLine parse_nccl_line(std::string_view text);

}  // namespace heddle::topology
