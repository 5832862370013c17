// Comparison: a found fabric beside a topology. Hosts have their names; switches are matched by
// their neighbors, and by name where the site names them. What no route between the probed NICs
// crosses is left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probing/found.h"
#include "topology/topology.h"

namespace heddle::probing {

enum class DifferenceKind : uint8_t { kMissing, kExtra, kWrong };
inline constexpr std::array<std::string_view, 3> kDifferenceNames = {"missing", "extra", "wrong"};
constexpr std::string_view name_of(DifferenceKind kind) {
  return kDifferenceNames[static_cast<size_t>(kind)];
}

struct Difference {
  DifferenceKind kind = DifferenceKind::kMissing;
  std::string subject;  // "leaf0 - spine1": of the topology; of what was found where that is extra
  std::string why;
};

struct Comparison {
  std::vector<std::optional<uint32_t>> switches;  // of the topology, by found switch
  uint32_t links = 0;                             // that both have, parallel ones once
  uint32_t invisible = 0;                         // links of the topology that no route crosses
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // what was not compared
};

Comparison compare(const FoundFabric& found, const topology::Topology& truth);

}  // namespace heddle::probing
