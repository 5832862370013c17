// RankLosses: which ranks of a run were lost, and whether enough are left for it to go on. Ranks
// that have ended with 0 are not lost, so they count among those that are left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::launch {

class RankLosses {
 public:
  // `min_ranks`: 1 to `ranks`; where it is `ranks`, no loss is allowed.
  RankLosses(uint32_t ranks, uint32_t min_ranks) : ranks_(ranks), min_ranks_(min_ranks) {}

  // Each rank once.
  void add(uint32_t rank) { lost_.push_back(rank); }
  uint32_t left() const { return ranks_ - static_cast<uint32_t>(lost_.size()); }
  bool enough_left() const { return left() >= min_ranks_; }

  // "3 of 4 ranks are left, at least 2 are needed".
  std::string left_text() const;
  // For the end of a run that went on: "rank 2 was lost" or "ranks 2, 0 were lost", with the number
  // that is left. Empty where none was lost.
  std::string summary() const;

 private:
  uint32_t ranks_;
  uint32_t min_ranks_;
  std::vector<uint32_t> lost_;  // in the order of their ends
};

}  // namespace heddle::launch
