// Report: the findings of one run's checkers. Keeps the first ones; a run with any finding has
// failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::vopr {

class Report {
 public:
  void fail(std::string what) {
    ++count_;
    if (kept_.size() < kMostKept) kept_.push_back(std::move(what));
  }

  bool good() const { return count_ == 0; }
  uint64_t count() const { return count_; }
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  static constexpr size_t kMostKept = 20;

  std::vector<std::string> kept_;
  uint64_t count_ = 0;
};

}  // namespace heddle::vopr
