// Fuzzes the readers of other tools: Chakra traces in both forms, AICB's text, ASTRA-sim's
// networks. Accepted jobs must be valid, and written traces of them are read; each error must have
// a cause and advice.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/check.h"
#include "topology/aicb_workload.h"
#include "topology/astra_network.h"
#include "topology/chakra_traces.h"
#include "topology/generators.h"

namespace {

namespace topology = heddle::topology;

constexpr uint32_t kRanks = 4;

void check(const heddle::Result<topology::ForeignJob>& made) {
  static const topology::Topology fabric =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 64});
  if (!made) {
    CHECK(!made.error().why.empty());
    CHECK(!made.error().todo.empty());
    return;
  }
  if (made->job.ranks.size() > fabric.hosts.size()) return;
  CHECK(topology::validate(made->job, fabric));
  const auto files = topology::chakra_traces_of(made->job, "f", topology::ChakraFormat::kProtobuf);
  CHECK(files.has_value());
  const auto read = topology::parse_chakra_traces(*files);
  // What sends nothing is no job of traces, and blocks of the largest sizes may be rounded above
  // them.
  if (!read) CHECK(!read.error().todo.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 3) {
    const auto network = topology::parse_astra_network(text, "fuzzed.yml");
    if (!network) CHECK(!network.error().todo.empty());
    return 0;
  }
  if (data[0] % 4 == 2) {
    check(topology::parse_aicb_workload(text, "fuzzed.txt", {.open_ranks = kRanks}));
    return 0;
  }
  std::map<std::string, std::string> files;
  for (uint32_t i = 0; i < kRanks; ++i) {
    files["f." + std::to_string(i) + (data[0] % 4 == 0 ? ".et" : ".json")] = text;
  }
  files["comm_groups.json"] = R"({"1": [0, 1, 2, 3]})";
  check(topology::parse_chakra_traces(files));
  return 0;
}
