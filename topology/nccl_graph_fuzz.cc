// Fuzzes the reader of NCCL's logs and dumps: what it accepts has whole rings and trees, and each
// error has a cause and advice. The text is read once by itself and once behind a topology.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "topology/nccl_graph.h"

namespace heddle::topology {
namespace {

constexpr std::string_view kTopology =
    "<system><gpu dev=\"0\" rank=\"0\"/><gpu dev=\"1\" rank=\"1\"/></system>";

void check_graph(const NcclGraph& graph) {
  for (const NcclChannel& channel : graph.channels) {
    CHECK(channel.ring.size() == (graph.has_rings() ? graph.ranks : 0));
    CHECK(channel.tree.size() == (graph.has_trees() ? graph.ranks : 0));
    std::vector<bool> seen(channel.ring.size());
    for (const uint32_t rank : channel.ring) {
      CHECK(rank < graph.ranks && !seen[rank]);
      seen[rank] = true;
    }
    uint32_t roots = 0;
    for (const NcclTreeNode& node : channel.tree) {
      if (!node.parent) ++roots;
      CHECK(node.parent.value_or(0) < graph.ranks);
      for (const uint32_t child : node.children) CHECK(child < graph.ranks);
    }
    CHECK(channel.tree.empty() || roots == 1);
  }
}

void read(std::string_view text, bool behind_topology) {
  NcclGraphReader reader;
  if (behind_topology) CHECK(reader.add(kTopology, "topology.xml"));
  const Result<void> added = reader.add(text, "fuzzed");
  if (!added) {
    CHECK(!added.error().why.empty() && !added.error().todo.empty());
    return;
  }
  const auto graphs = reader.finish();
  if (!graphs) {
    CHECK(!graphs.error().why.empty() && !graphs.error().todo.empty());
    return;
  }
  for (const auto& [ranks, graph] : graphs->by_ranks) {
    CHECK(graph.ranks == ranks && (graph.has_rings() || graph.has_trees()));
    check_graph(graph);
  }
}

}  // namespace
}  // namespace heddle::topology

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  heddle::topology::read(text, false);
  heddle::topology::read(text, true);
  return 0;
}
