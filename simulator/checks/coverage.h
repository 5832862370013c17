// Coverage: the bytes of a range that have been accessed, as merged intervals.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace heddle::simulator {

class Coverage {
 public:
  // False if a byte of [start, end) was already covered.
  bool add(uint64_t start, uint64_t end) {
    if (start >= end) return true;
    bool fresh = true;
    auto next = intervals_.upper_bound(start);
    if (next != intervals_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second >= start) {
        fresh = previous->second == start;
        start = previous->first;
        end = previous->second > end ? previous->second : end;
        next = intervals_.erase(previous);
      }
    }
    while (next != intervals_.end() && next->first <= end) {
      fresh = fresh && next->first == end;
      end = next->second > end ? next->second : end;
      next = intervals_.erase(next);
    }
    intervals_.emplace_hint(next, start, end);
    return fresh;
  }

  uint64_t covered() const {
    uint64_t sum = 0;
    for (const auto& [start, end] : intervals_) sum += end - start;
    return sum;
  }

 private:
  std::map<uint64_t, uint64_t> intervals_;
};

}  // namespace heddle::simulator
