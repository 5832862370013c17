// Fuzzes the reader of workload files: accepted input must be valid, and each error must have a
// cause and advice.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/generators.h"
#include "topology/workload_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace topology = heddle::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const topology::Topology small = topology::leaf_spine({});
  const auto workload = topology::parse_workload(text, "fuzzed.toml", small, 1);
  if (workload) {
    CHECK(topology::validate(*workload, small));
  } else {
    CHECK(!workload.error().why.empty());
    CHECK(!workload.error().todo.empty());
  }
  return 0;
}
