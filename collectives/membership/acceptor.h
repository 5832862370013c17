// Acceptor: the part of the agreement on ranks that every rank has (acceptors in the source): it
// accepts no ballot below one that it has promised, and knows the set that it accepted last.
#pragma once

#include <algorithm>
#include <utility>

#include "collectives/membership/ballot.h"

namespace heddle::collectives {

class Acceptor {
 public:
  explicit Acceptor(uint32_t size) : accepted_{{}, RankSet(size), 0} {}

  const Ballot& promised() const { return promised_; }
  // No effect where a higher one is promised.
  void promise(const Ballot& ballot) { promised_ = std::max(promised_, ballot); }

  bool has_accepted() const { return accepted_.ballot != Ballot{}; }
  const ProposedSet& accepted() const { return accepted_; }
  void accept(ProposedSet set) { accepted_ = std::move(set); }

 private:
  Ballot promised_;
  ProposedSet accepted_;
};

}  // namespace heddle::collectives
