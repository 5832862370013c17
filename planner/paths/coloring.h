// Balanced edge coloring of a bipartite multigraph. Leaves of a Clos fabric with m uplinks each are
// the vertices, equal flows between them the edges, uplinks the colors: a coloring that has every
// color at most ceil(degree / m) times at every vertex places the flows as evenly as whole flows
// can be. It always exists: split each vertex into vertices of degree m at most, which m colors
// color properly (D. Koenig, 1916; de Werra, 1971, for balanced colorings).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/paths/params.h"

namespace heddle::planner {

// A set of colors.
class Colors {
 public:
  static constexpr uint32_t kMost = params::kMostColors;

  static Colors first(uint32_t count) {
    Colors all;
    for (uint32_t i = 0; i < count; ++i) all.add(i);
    return all;
  }
  void add(uint32_t color) { words_[color / 64] |= uint64_t{1} << (color % 64); }
  void remove(uint32_t color) { words_[color / 64] &= ~(uint64_t{1} << (color % 64)); }
  bool has(uint32_t color) const { return (words_[color / 64] >> (color % 64) & 1) != 0; }
  // The lowest; kMost: there is none.
  uint32_t lowest() const {
    for (uint32_t word = 0; word < words_.size(); ++word) {
      if (words_[word] != 0)
        return 64 * word + static_cast<uint32_t>(__builtin_ctzll(words_[word]));
    }
    return kMost;
  }
  // The lowest at or above `from`, else the lowest.
  uint32_t lowest_from(uint32_t from) const {
    Colors upper = *this;
    for (uint32_t word = 0; word < from / 64; ++word) upper.words_[word] = 0;
    upper.words_[from / 64] &= ~uint64_t{0} << (from % 64);
    const uint32_t found = upper.lowest();
    return found < kMost ? found : lowest();
  }
  Colors operator&(const Colors& other) const {
    Colors both;
    for (size_t i = 0; i < words_.size(); ++i) both.words_[i] = words_[i] & other.words_[i];
    return both;
  }

 private:
  std::array<uint64_t, kMost / 64> words_{};
};

struct BipartiteEdge {
  uint32_t left = 0;
  uint32_t right = 0;
};

struct BipartiteGraph {
  uint32_t lefts = 0;
  uint32_t rights = 0;
  std::span<const BipartiteEdge> edges;
};

struct Palette {
  uint32_t colors = 1;  // to Colors::kMost
  uint32_t first = 0;   // of equal colors the next one from here on is taken
};

// The color of each edge. Where several are possible, one of `preferred(edge)` is taken; an edge
// may get another one all the same.
std::vector<uint16_t> color_edges(const BipartiteGraph& graph, const Palette& palette,
                                  const std::function<Colors(uint32_t edge)>& preferred);

}  // namespace heddle::planner
