// Double binary tree: one half of the data goes up and down one tree, the other half another tree,
// in which the inner ranks of the first are leaves. Sanders, Speck and Träff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", 2009. Tree k uses channel k.
#pragma once

#include <array>

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

// A rank's place in one tree over `size` ranks that are counted from the root; the root is rank 0
// of both trees.
struct TreeNode {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t parent = kNone;
  std::array<uint32_t, 2> child = {kNone, kNone};
  uint32_t children = 0;
};

TreeNode tree_node(uint32_t tree, uint32_t from_root, uint32_t size);

// All-reduce (up and down), broadcast (down) or reduce (up).
class DoubleTree {
 public:
  explicit DoubleTree(const Shape& shape);
  uint64_t steps() const { return copies_ + chunks_.count() * (ups_ + downs_); }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Part chunk(uint32_t tree, uint64_t chunk) const;
  Step up(uint64_t index, uint64_t chunk) const;
  Step down(uint64_t index, uint64_t chunk) const;
  uint64_t ups(uint32_t tree) const;
  uint64_t downs(uint32_t tree) const;

  Shape shape_;
  std::array<TreeNode, 2> nodes_;  // in ranks
  uint64_t copies_ = 0;
  Cut chunks_;          // of a half
  uint64_t lead_ = 0;   // chunks that go up before the first is expected down
  uint64_t ups_ = 0;    // steps per chunk up, over both trees
  uint64_t downs_ = 0;  // and down
  bool reduces_ = false;
  bool spreads_ = false;
};

}  // namespace heddle::collectives
