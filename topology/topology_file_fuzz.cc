// Fuzzes the reader of topology files: an accepted file must give a valid topology, and each error
// must have a cause and advice.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "topology/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const heddle::Result<heddle::topology::Topology> topology =
      heddle::topology::parse_topology(text, "fuzzed.toml");
  if (topology) {
    CHECK(heddle::topology::validate(*topology));
    CHECK(!topology->hosts.empty());
  } else {
    CHECK(!topology.error().why.empty());
    CHECK(!topology.error().todo.empty());
  }
  return 0;
}
