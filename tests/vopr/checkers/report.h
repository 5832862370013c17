// Report: what the checkers of one run found wrong. The first findings are kept; a run with any has
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
