// RecentCalls: a process's latest calls by communicator and number, and the operation that each is
// a part of. A process makes thousands of calls a second, so a look-up is one comparison where
// numbers are consecutive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace heddle::insight {

// The part of an operation; its communicator is that of the call.
struct CallPart {
  uint64_t number = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t part = 0;
};

class RecentCalls {
 public:
  explicit RecentCalls(size_t most) : most_(most) {}

  struct Forgotten {
    uint64_t communicator = 0;
    CallPart part;
  };
  // A later call of the same number takes its place. Returns the oldest call, if it is one too
  // many.
  std::optional<Forgotten> add(uint64_t communicator, uint32_t call, const CallPart& part) {
    Calls& calls = by_communicator_[communicator];
    const size_t at = place_of(calls, call);
    if (at < calls.size() && calls[at].call == call) {
      calls[at].part = part;
      return std::nullopt;
    }
    calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(at), {call, part});
    order_.push_back(communicator);
    if (order_.size() <= most_) return std::nullopt;
    return forget_oldest();
  }

  // Null: it is not known.
  const CallPart* find(uint64_t communicator, uint32_t call) const {
    const auto found = by_communicator_.find(communicator);
    if (found == by_communicator_.end()) return nullptr;
    const Calls& calls = found->second;
    const size_t at = place_of(calls, call);
    return at < calls.size() && calls[at].call == call ? &calls[at].part : nullptr;
  }

 private:
  struct Entry {
    uint32_t call = 0;
    CallPart part;
  };
  using Calls = std::deque<Entry>;  // by number

  // Of the first one that is not before it.
  static size_t place_of(const Calls& calls, uint32_t call) {
    if (calls.empty() || call > calls.back().call) return calls.size();
    const size_t before = calls.back().call - call;
    if (before < calls.size()) {
      const size_t guess = calls.size() - 1 - before;
      if (calls[guess].call == call) return guess;
    }
    const auto at =
        std::lower_bound(calls.begin(), calls.end(), call,
                         [](const Entry& entry, uint32_t value) { return entry.call < value; });
    return static_cast<size_t>(at - calls.begin());
  }

  // Of the communicator whose call was added first, the lowest number.
  Forgotten forget_oldest() {
    const auto oldest = by_communicator_.find(order_.front());
    order_.pop_front();
    const Forgotten forgotten{oldest->first, oldest->second.front().part};
    oldest->second.pop_front();
    if (oldest->second.empty()) by_communicator_.erase(oldest);
    return forgotten;
  }

  size_t most_;
  std::map<uint64_t, Calls> by_communicator_;
  std::deque<uint64_t> order_;  // communicators, as calls were added
};

}  // namespace heddle::insight
