// FollowedLeader: the leader to which a rank has sent its promise, whether it takes part, and the
// leaders that were passed over because they do not.
#pragma once

#include <cstdint>
#include <optional>

#include "base/nanos.h"
#include "collectives/membership/rank_set.h"

namespace heddle::collectives {

class FollowedLeader {
 public:
  // `answers_within`: a leader that has not said within this that it takes part may be passed over.
  FollowedLeader(uint32_t ranks, Nanos answers_within)
      : answers_within_(answers_within), passed_(ranks) {}

  bool is(uint32_t rank) const { return rank_ == rank; }
  bool passed(uint32_t rank) const { return passed_.contains(rank); }
  void follow(uint32_t rank, Nanos now) {
    rank_ = rank;
    since_ = now;
    joined_ = false;
  }
  // It has said that it takes part.
  void note_joined() { joined_ = true; }
  void pass_over() { passed_.insert(*rank_); }
  // When it may be passed over; never(): it takes part.
  Nanos answers_until() const { return joined_ ? Nanos::never() : since_ + answers_within_; }

 private:
  const Nanos answers_within_;
  RankSet passed_;
  std::optional<uint32_t> rank_;
  Nanos since_;
  bool joined_ = false;
};

}  // namespace heddle::collectives
