// LateRanks: what a rank knows of ranks that have not made a call in which others wait. Such news
// go from rank to rank: who hears that one is late passes it on, asks that rank itself as soon as
// it can, and hears in the same ways when it has come. Only bookkeeping: its owner tells and asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collectives/execution/control.h"

namespace heddle::collectives {

class LateRanks {
 public:
  // So much is remembered of others, and as much of who asked; and of so many calls before the
  // oldest under way, for ranks that are still in them.
  static constexpr size_t kMost = 1024;
  static constexpr uint64_t kCallsBack = 64;

  // What was heard, or seen, of another rank. True: it is new, and others are to be told.
  bool note(const Late& news);
  // Every call below `number` is over here.
  void forget_before(uint64_t number);
  // Who has not made a call, as far as is known; in order.
  std::vector<uint32_t> missing(uint64_t number) const;

  // Some are late and were not asked yet.
  bool any_unasked() const { return unasked_ > 0; }
  // Calls ask(number, rank) for each of these; its answer: that rank could be asked.
  template <typename Ask>
  void ask_unasked(Ask ask) {
    for (auto& [call, state] : known_) {
      if (state != State::kHeard || !ask(call.first, call.second)) continue;
      state = State::kAsked;
      --unasked_;
    }
  }

  // Rank `asker` was told that this rank has not made the call.
  void note_asker(uint64_t number, uint32_t asker);
  bool any_asker() const { return !askers_.empty() || asked_by_more_; }
  // This rank makes the call now: who was told (by number and rank), and whether there were more
  // than could be remembered, so that all are to be told.
  struct Askers {
    std::vector<std::pair<uint64_t, uint32_t>> known;
    bool more = false;
  };
  Askers take_askers(uint64_t number);

 private:
  enum class State : uint8_t { kHeard, kAsked, kCame };

  std::map<std::pair<uint64_t, uint32_t>, State> known_;  // by number and rank
  std::set<std::pair<uint64_t, uint32_t>> askers_;        // by number
  uint64_t from_ = 0;                                     // older calls are of no interest any more
  size_t unasked_ = 0;
  bool asked_by_more_ = false;
};

}  // namespace heddle::collectives
