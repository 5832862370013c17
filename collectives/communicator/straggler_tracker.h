// StragglerTracker: which ranks have not made a call in which other ranks wait. Ranks forward such
// reports to each other: a rank that receives one forwards it, asks the straggler itself as soon as
// they are connected, and learns by the same routes when the straggler has made the call. It only
// keeps state; Communicator::Body sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collectives/execution/control.h"
#include "collectives/params.h"

namespace heddle::collectives {

class StragglerTracker {
 public:
  // The most reports, and the most asking ranks, for which state is kept; and the number of calls
  // before the oldest running one for which it is kept, since other ranks may still run those.
  static constexpr size_t kMost = params::kStragglers;
  static constexpr uint64_t kCallsBack = params::kStragglerCallsBack;

  // Takes a report about another rank. True: it is new and has to be forwarded.
  bool note(const Late& report);
  // Every call below `number` is over here.
  void forget_before(uint64_t number);
  // The ranks that are known not to have made a call, in order.
  std::vector<uint32_t> missing(uint64_t number) const;

  // Some are late and were not asked yet.
  bool any_unasked() const { return unasked_ > 0; }
  // Calls ask(number, rank) for each of these; it returns whether that rank could be asked.
  template <typename Ask>
  void ask_unasked(Ask ask) {
    for (auto& [call, state] : known_) {
      if (state != State::kHeard || !ask(call.first, call.second)) continue;
      state = State::kAsked;
      --unasked_;
    }
  }

  // Rank `asker` has been sent that this rank has not made the call.
  void note_asker(uint64_t number, uint32_t asker);
  bool any_asker() const { return !askers_.empty() || asked_by_more_; }
  // This rank makes the call now: the ranks that asked about it, by number and rank. `more`: there
  // were more than are remembered, and all ranks have to be notified.
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
