// The process groups of traces: which ranks a node's pg_name means. They are in comm_groups.json,
// as ASTRA-sim reads it, or in metadata nodes, as PyTorch writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/chakra/trace.h"

namespace heddle::topology::chakra {

class ProcessGroups {
 public:
  explicit ProcessGroups(uint32_t ranks);

  // {"1": [0, 1], "2": [2, 3]}. Errors: kInvalid.
  Result<void> read_file(std::string_view text, const std::string& file);
  // The list in a trace's metadata nodes, which is about its rank's groups.
  Result<void> read_nodes(const Trace& trace);

  // The ranks of a group, in their order in it, for a member; null: it is not known. An empty name
  // is all ranks.
  const std::vector<uint32_t>* ranks_of(const std::string& name, uint32_t rank) const;
  bool any() const { return !all_.empty() || !of_rank_.empty(); }

 private:
  std::map<std::string, std::vector<uint32_t>> all_;
  std::map<uint32_t, std::map<std::string, std::vector<uint32_t>>> of_rank_;
  std::vector<uint32_t> every_;  // the group of all ranks
};

}  // namespace heddle::topology::chakra
