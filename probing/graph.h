// Graph: neighbors and distances in a found fabric. Hosts do not forward.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probing/found.h"

namespace heddle::probing {

class Graph {
 public:
  static constexpr uint32_t kFar = UINT32_MAX;

  explicit Graph(const FoundFabric& found);

  const std::vector<Place>& neighbors(const Place& place) const {
    return neighbors_[number_of(place)];
  }
  // Cables between each place and this one; kFar: no route. By number_of().
  std::vector<uint32_t> distances(const Place& to) const;
  uint32_t number_of(const Place& place) const {
    return place.kind == topology::NodeKind::kNic ? place.index : nics_ + place.index;
  }
  // The hops of the only shortest route; nothing if there are several or none.
  std::optional<std::vector<Hop>> only_route(const Place& from, const Place& to) const;

 private:
  uint32_t nics_;
  std::vector<std::vector<Place>> neighbors_;
};

}  // namespace heddle::probing
