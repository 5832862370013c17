// Promises: see promises.h.
#include "collectives/membership/promises.h"

namespace heddle::collectives {

RankSet Promises::came(const RankSet& gone) const {
  RankSet ranks(size_);
  ranks.insert(rank_);
  for (const auto& [rank, promise] : latest_) {
    if (!gone.contains(rank)) ranks.insert(rank);
  }
  return ranks;
}

RankSet Promises::of_ballot(const Ballot& ballot, const RankSet& gone) const {
  RankSet ranks(size_);
  ranks.insert(rank_);
  for (const auto& [rank, promise] : latest_) {
    if (!gone.contains(rank) && promise.ballot == ballot) ranks.insert(rank);
  }
  return ranks;
}

// Only those that each of these ranks knows of, so that each can report the result to them.
uint64_t Promises::newcomers_of(const RankSet& ranks) const {
  for (const uint32_t rank : ranks.ranks()) {
    if (rank == rank_) continue;
    const auto promise = latest_.find(rank);
    if (promise == latest_.end() || promise->second.accepted.newcomers != newcomers_) return 0;
  }
  return newcomers_;
}

ProposedSet Promises::to_propose(const RankSet& ready, const ProposedSet& own) const {
  ProposedSet highest = own;
  if (own.ballot == Ballot{}) highest = {{}, ready, newcomers_of(ready)};
  for (const uint32_t rank : ready.ranks()) {
    const auto promise = latest_.find(rank);
    if (promise == latest_.end() || promise->second.accepted.ballot <= highest.ballot) continue;
    highest = promise->second.accepted;
  }
  return highest;
}

}  // namespace heddle::collectives
