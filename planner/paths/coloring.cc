// Edge by edge: a color that is free at both ends, or one made free by exchanging two colors along
// an alternating path.
#include "planner/paths/coloring.h"

#include "base/check.h"

namespace heddle::planner {
namespace {

constexpr uint32_t kFree = UINT32_MAX;

// Vertices of degree at most `colors` that stand for those of the graph.
class Side {
 public:
  Side(uint32_t vertices, uint32_t colors)
      : colors_(colors), newest_(vertices, kFree), count_(vertices) {}

  // The part of the vertex that takes its next edge.
  uint32_t part_of(uint32_t vertex) {
    if (newest_[vertex] == kFree || count_[vertex] == colors_) {
      newest_[vertex] = static_cast<uint32_t>(free_.size());
      count_[vertex] = 0;
      free_.push_back(Colors::first(colors_));
      edges_.resize(edges_.size() + colors_, kFree);
    }
    ++count_[vertex];
    return newest_[vertex];
  }
  const Colors& free(uint32_t part) const { return free_[part]; }
  uint32_t edge(uint32_t part, uint32_t color) const {
    return edges_[size_t{part} * colors_ + color];
  }
  void set(uint32_t part, uint32_t color, uint32_t edge) {
    edges_[size_t{part} * colors_ + color] = edge;
    if (edge == kFree) {
      free_[part].add(color);
    } else {
      free_[part].remove(color);
    }
  }

 private:
  uint32_t colors_;
  std::vector<uint32_t> newest_;  // by vertex
  std::vector<uint32_t> count_;   // edges of its newest part
  std::vector<Colors> free_;      // by part
  std::vector<uint32_t> edges_;   // by part and color
};

class Coloring {
 public:
  Coloring(const BipartiteGraph& graph, const Palette& palette)
      : colors_(palette.colors),
        first_(palette.first),
        left_(graph.lefts, colors_),
        right_(graph.rights, colors_),
        parts_(graph.edges.size()),
        color_of_(graph.edges.size()) {
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      parts_[i] = {left_.part_of(graph.edges[i].left), right_.part_of(graph.edges[i].right)};
    }
  }

  void color(uint32_t edge, const Colors& preferred) {
    const auto [left, right] = parts_[edge];
    const Colors both = left_.free(left) & right_.free(right);
    uint32_t color = (both & preferred).lowest_from(first_);
    const bool none_preferred = (left_.free(left) & preferred).lowest() == Colors::kMost;
    if (color == Colors::kMost && none_preferred) color = both.lowest_from(first_);
    if (color == Colors::kMost) color = exchange(left, right, preferred);
    CHECK(color < colors_);
    set(edge, color);
  }

  std::vector<uint16_t> take() { return std::move(color_of_); }

 private:
  struct Parts {
    uint32_t left = 0;
    uint32_t right = 0;
  };

  void set(uint32_t edge, uint32_t color) {
    color_of_[edge] = static_cast<uint16_t>(color);
    left_.set(parts_[edge].left, color, edge);
    right_.set(parts_[edge].right, color, edge);
  }

  // Makes a color that is free on the left free on the right, too: the path from there on which it
  // alternates with a color that is free on the right never reaches `left`.
  uint32_t exchange(uint32_t left, uint32_t right, const Colors& preferred) {
    uint32_t wanted = (left_.free(left) & preferred).lowest();
    if (wanted == Colors::kMost) wanted = left_.free(left).lowest();
    const uint32_t other = right_.free(right).lowest();
    path_.clear();
    uint32_t at = right;
    for (bool on_right = true;; on_right = !on_right) {
      const uint32_t edge = on_right ? right_.edge(at, wanted) : left_.edge(at, other);
      if (edge == kFree) break;
      path_.push_back(edge);
      at = on_right ? parts_[edge].left : parts_[edge].right;
    }
    for (const uint32_t edge : path_) {
      left_.set(parts_[edge].left, color_of_[edge], kFree);
      right_.set(parts_[edge].right, color_of_[edge], kFree);
    }
    for (const uint32_t edge : path_) set(edge, color_of_[edge] == wanted ? other : wanted);
    return wanted;
  }

  uint32_t colors_;
  uint32_t first_;
  Side left_;
  Side right_;
  std::vector<Parts> parts_;        // by edge
  std::vector<uint16_t> color_of_;  // by edge
  std::vector<uint32_t> path_;
};

}  // namespace

std::vector<uint16_t> color_edges(const BipartiteGraph& graph, const Palette& palette,
                                  const std::function<Colors(uint32_t edge)>& preferred) {
  CHECK(palette.colors > 0 && palette.colors <= Colors::kMost && palette.first < palette.colors);
  Coloring coloring(graph, palette);
  for (uint32_t edge = 0; edge < graph.edges.size(); ++edge) coloring.color(edge, preferred(edge));
  return coloring.take();
}

}  // namespace heddle::planner
