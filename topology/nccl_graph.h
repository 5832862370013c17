// Reader of NCCL's rings and trees: from its log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH)
// and from the XML files that it writes where NCCL_GRAPH_DUMP_FILE and NCCL_TOPO_DUMP_FILE are set.
// insight/ takes them as the order of ranks that NCCL's algorithms follow.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::topology {

struct NcclTreeNode {
  std::optional<uint32_t> parent;  // none: the root
  std::vector<uint32_t> children;  // at most three

  bool operator==(const NcclTreeNode&) const = default;
};

struct NcclChannel {
  std::vector<uint32_t> ring;      // each rank sends to the next, the last to the first
  std::vector<NcclTreeNode> tree;  // by rank

  bool operator==(const NcclChannel&) const = default;
};

// Of a communicator. Either all channels have a ring or none has, likewise a tree; rings and trees
// have all ranks.
struct NcclGraph {
  uint32_t ranks = 0;
  std::vector<NcclChannel> channels;

  bool has_rings() const { return !channels.empty() && !channels.front().ring.empty(); }
  bool has_trees() const { return !channels.empty() && !channels.front().tree.empty(); }
  bool operator==(const NcclGraph&) const = default;
};

struct NcclGraphs {
  // One for each number of ranks that a communicator had, by that number.
  std::map<uint32_t, NcclGraph> by_ranks;
  // What was left out and why, with its place: rings of another communicator of as many ranks,
  // trees of which lines are missing.
  std::vector<std::string> notes;

  // Null: no communicator had as many.
  const NcclGraph* of(uint32_t ranks) const;
};

// Takes the files of a job in any order, but the topology dump of a host before a graph dump that
// has no ranks (written by old versions of NCCL).
class NcclGraphReader {
 public:
  NcclGraphReader();
  ~NcclGraphReader();

  // A log, or an XML file if its text begins with '<'. Lines of a log that are not NCCL's are
  // passed over. `name` is the file's name in errors. Errors: kInvalid with file and line: what
  // NCCL does not write, and a file with neither rings nor trees nor ranks.
  Result<void> add(std::string_view text, const std::string& name);
  // Errors: kInvalid, where the graph dumps do not make whole rings, and where nothing was found.
  Result<NcclGraphs> finish() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::topology
