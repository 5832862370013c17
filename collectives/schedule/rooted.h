// Schedules with a root: gather and scatter directly with every rank or along a binomial tree,
// broadcast and reduce along a binomial tree. A rank's descendants are the ranks that differ from
// it (counted from the root) only in bits below its lowest set bit.
#pragma once

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

class LinearGather {
 public:
  explicit LinearGather(const Shape& shape);
  uint64_t steps() const { return shape_.from_root() == 0 ? shape_.size * pieces_ : pieces_; }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  uint64_t pieces_ = 1;
};

class LinearScatter {
 public:
  explicit LinearScatter(const Shape& shape);
  uint64_t steps() const { return shape_.from_root() == 0 ? shape_.size * pieces_ : pieces_; }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  uint64_t pieces_ = 1;
};

// A rank's place in a binomial tree, counted from the root.
class BinomialNode {
 public:
  BinomialNode(uint32_t from_root, uint32_t size);
  bool root() const { return place_ == 0; }
  uint32_t parent() const { return place_ & (place_ - 1); }
  uint32_t children() const { return children_; }
  // The nearest first, whose own trees are the smallest.
  uint32_t child(uint32_t index) const { return place_ + (1U << index); }
  // Number of ranks in the subtree of `place`, itself included; they have consecutive places.
  uint32_t ranks_below(uint32_t place) const;

 private:
  uint32_t place_;
  uint32_t size_;
  uint32_t children_ = 0;
};

// Forwarded data is stored in the order of the places, one block each.
class BinomialGather {
 public:
  explicit BinomialGather(const Shape& shape);
  uint64_t steps() const { return 1 + node_.children() + (node_.root() ? 2 : 1); }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  BinomialNode node_;
};

class BinomialScatter {
 public:
  explicit BinomialScatter(const Shape& shape);
  uint64_t steps() const { return (node_.root() ? 2 : 1) + node_.children() + 1; }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  BinomialNode node_;
};

class BinomialBroadcast {
 public:
  explicit BinomialBroadcast(const Shape& shape);
  uint64_t steps() const {
    return node_.root() ? 1 + row_ * chunks_.count() : row_ * chunks_.count();
  }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  BinomialNode node_;
  Cut chunks_;
  uint64_t row_ = 0;  // messages a chunk
};

class BinomialReduce {
 public:
  explicit BinomialReduce(const Shape& shape);
  uint64_t steps() const { return shape_.size == 1 ? 1 : row_ * chunks_.count(); }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  BinomialNode node_;
  Cut chunks_;
  uint64_t row_ = 0;
};

}  // namespace heddle::collectives
