// Promises: what a leader of the agreement on ranks has been promised, and the set that it has to
// propose after that.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "collectives/membership/ballot.h"

namespace heddle::collectives {

class Promises {
 public:
  // Of `rank` among `ranks`, which would take in `newcomers`.
  Promises(uint32_t rank, uint32_t ranks, uint64_t newcomers)
      : rank_(rank), size_(ranks), newcomers_(newcomers) {}

  struct Promise {
    Ballot ballot;
    // That was accepted before; where none was, only the newcomers that the rank would take in.
    ProposedSet accepted;
  };
  void note(uint32_t from, Promise promise) { latest_.insert_or_assign(from, std::move(promise)); }
  bool has(uint32_t rank) const { return latest_.count(rank) > 0; }

  // The ranks that sent any, or one of `ballot`, and this rank; without `gone`.
  RankSet came(const RankSet& gone) const;
  RankSet of_ballot(const Ballot& ballot, const RankSet& gone) const;
  // What to propose to `ready`: the set that the highest ballot among their promises accepted, or
  // this rank (`own`); if none did, all of `ready`. The ballot is that one.
  ProposedSet to_propose(const RankSet& ready, const ProposedSet& own) const;

  template <typename Visit>
  void visit_ranks(Visit visit) const {
    for (const auto& [rank, promise] : latest_) visit(rank);
  }

 private:
  uint64_t newcomers_of(const RankSet& ranks) const;

  const uint32_t rank_;
  const uint32_t size_;
  const uint64_t newcomers_;
  std::map<uint32_t, Promise> latest_;  // of each rank
};

}  // namespace heddle::collectives
