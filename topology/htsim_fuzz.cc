// Fuzzes the readers of htsim's files: accepted input must be valid, and each error must have a
// cause and advice. The text is read as a topology, and as a matrix on a small fabric.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/generators.h"
#include "topology/htsim_matrix.h"
#include "topology/htsim_topology.h"

namespace heddle::topology {
namespace {

template <typename Read>
void check_refusal(const Read& read) {
  CHECK(!read.error().why.empty());
  CHECK(!read.error().todo.empty());
}

}  // namespace
}  // namespace heddle::topology

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = heddle::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fabric = topology::parse_htsim_topology(text, "fuzzed.topo", {});
  if (fabric) {
    CHECK(topology::validate(*fabric));
  } else {
    topology::check_refusal(fabric);
  }
  static const topology::Topology small = topology::fat_tree({});
  const auto workload = topology::parse_htsim_matrix(text, "fuzzed.cm", small);
  if (workload) {
    CHECK(topology::validate(*workload, small));
  } else {
    topology::check_refusal(workload);
  }
  return 0;
}
