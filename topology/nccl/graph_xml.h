// The XML files that NCCL writes of one host: its graph (NCCL_GRAPH_DUMP_FILE), with the order of
// the host's ranks in each channel, and its topology (NCCL_TOPO_DUMP_FILE), with the rank of each
// GPU. NcclGraphReader joins the hosts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::topology {

// Ranks of this host in the order in which data passes them, by channel.
using NcclOrders = std::vector<std::vector<uint32_t>>;

struct NcclHostXml {
  std::string name;  // of the file
  bool is_graph = false;
  // Of a topology: ranks by the GPU's device number.
  std::map<uint64_t, uint32_t> rank_of_device;
  // Of a graph.
  NcclOrders rings;
  NcclOrders trees;
  bool leaves_host = false;  // the channels begin and end at NICs
  bool swaps_pairs = false;  // pairs of rings may be exchanged between hosts (crossnic 2)
};

// `devices`: ranks by device number, for a graph without ranks. Errors: kInvalid with file and
// line.
Result<NcclHostXml> parse_nccl_xml(std::string_view text, const std::string& name,
                                   const std::map<uint64_t, uint32_t>& devices);

}  // namespace heddle::topology
