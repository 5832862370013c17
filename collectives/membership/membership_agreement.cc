// MembershipAgreement: see membership_agreement.h.
#include "collectives/membership/membership_agreement.h"

#include <algorithm>
#include <utility>

namespace heddle::collectives {
namespace {

using Kind = MembershipMessage::Kind;

Unexpected too_few(const RankSet& came) {
  return fail(ErrorCode::kUnavailable, "cannot go on with the ranks that are left",
              "of " + std::to_string(came.size()) + " ranks only " + std::to_string(came.count()) +
                  " came (" + came.text() + "), which is no majority: the others may go on",
              "start the job again from its last checkpoint");
}

}  // namespace

bool MembershipAgreement::is_quorum(const RankSet& ranks) {
  const uint64_t twice = 2 * uint64_t{ranks.count()};
  return twice > ranks.size() || (twice == ranks.size() && ranks.contains(0));
}

MembershipAgreement::MembershipAgreement(uint32_t rank, uint32_t size,
                                         const MembershipOptions& options)
    : rank_(rank),
      size_(size),
      options_(options),
      gone_(size),
      reported_(size),
      accepted_ranks_(size),
      proposed_(size),
      accepts_(size) {}

void MembershipAgreement::join(Nanos now) {
  if (!joined_at_) joined_at_ = now;
  advance(now);
}

void MembershipAgreement::note_gone(uint32_t rank) {
  if (rank != rank_ && rank < size_) gone_.insert(rank);
}

uint32_t MembershipAgreement::leader() const {
  uint32_t lowest = 0;
  while (lowest < rank_ && gone_.contains(lowest)) ++lowest;
  return lowest;
}

void MembershipAgreement::advance(Nanos now) {
  if (!joined_at_ || outcome_) return;
  if (now - *joined_at_ >= options_.join_within + options_.agree_within) {
    outcome_ =
        fail(ErrorCode::kTimeout, "the ranks that are left came to no agreement",
             leads() ? "others did not answer rank " + std::to_string(rank_) + ", which leads"
                     : "rank " + std::to_string(leader()) + ", which leads, sent none",
             "start the job again from its last checkpoint");
    return;
  }
  const uint32_t lowest = leader();
  if (lowest != rank_) return follow(lowest);
  lead(now);
}

Nanos MembershipAgreement::due_at() const {
  if (!joined_at_ || outcome_) return Nanos::never();
  if (phase_ == Phase::kGathering) return *joined_at_ + options_.join_within;
  if (phase_ == Phase::kPreparing && prepare_at_ != Nanos{}) return prepare_at_;
  return *joined_at_ + options_.join_within + options_.agree_within;
}

bool MembershipAgreement::poll_send(Sending& sending) {
  if (sends_.empty()) return false;
  sending = sends_.pop_front();
  return true;
}

void MembershipAgreement::send(uint32_t to, MembershipMessage message, bool connects) {
  sends_.push_back({to, connects, std::move(message)});
}

void MembershipAgreement::send_to_all(const MembershipMessage& message) {
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !gone_.contains(rank)) send(rank, message);
  }
}

// --- of every rank ---

void MembershipAgreement::follow(uint32_t leader) {
  if (followed_ == leader) return;
  followed_ = leader;
  // The first ballot of each leader needs no prepare message.
  promised_ = std::max(promised_, Ballot{1, leader});
  promise_to(leader);
}

void MembershipAgreement::promise_to(uint32_t leader) {
  const bool accepted = accepted_ != Ballot{};
  send(leader, {Kind::kPromise, promised_, accepted_, accepted ? accepted_ranks_ : gone_}, true);
}

void MembershipAgreement::handle(uint32_t from, const MembershipMessage& message) {
  if (from >= size_ || from == rank_) return;
  if (outcome_) {
    // One that was late, or whose leader died, learns what was decided.
    if (*outcome_ && message.kind != Kind::kDecided)
      send(from, {Kind::kDecided, {}, {}, **outcome_});
    return;
  }
  switch (message.kind) {
    case Kind::kPromise:
      if (message.accepted == Ballot{}) reported_.insert_all(message.ranks);
      refused_by_ = std::max(refused_by_, message.ballot);
      promises_.insert_or_assign(from,
                                 Promise{message.ballot, message.accepted,
                                         message.accepted == Ballot{} ? RankSet() : message.ranks});
      return;
    case Kind::kPrepare:
    case Kind::kPropose:
      return handle_proposal(from, message);
    case Kind::kAccepted:
      if (phase_ == Phase::kProposing && message.ballot == ballot_) accepts_.insert(from);
      return;
    case Kind::kRefused:
      refused_by_ = std::max(refused_by_, message.ballot);
      return;
    case Kind::kDecided:
      return decide(message.ranks);
    case Kind::kNoQuorum:
      if (joined_at_) outcome_ = too_few(message.ranks);
      return;
  }
}

void MembershipAgreement::handle_proposal(uint32_t from, const MembershipMessage& message) {
  if (!joined_at_ || message.ballot.leader != from) return;
  if (message.ballot < promised_)
    return send(from, {Kind::kRefused, promised_, {}, RankSet(size_)});
  promised_ = message.ballot;
  if (message.kind == Kind::kPrepare) return promise_to(from);
  accepted_ = message.ballot;
  accepted_ranks_ = message.ranks;
  send(from, {Kind::kAccepted, message.ballot, {}, RankSet(size_)});
}

// Each rank sends it to all others: the leader may die before it has.
void MembershipAgreement::decide(const RankSet& ranks) {
  send_to_all({Kind::kDecided, {}, {}, ranks});
  if (ranks.contains(rank_)) {
    outcome_ = ranks;
    return;
  }
  outcome_ = fail(ErrorCode::kPeerDead, "the other ranks went on without this one",
                  "rank " + std::to_string(rank_) + " was silent for too long, and ranks " +
                      ranks.text() + " agreed that they are left",
                  "start this process again, to take part in the next run");
}

// --- of the leader ---

RankSet MembershipAgreement::came() const {
  RankSet ranks(size_);
  ranks.insert(rank_);
  for (const auto& [rank, promise] : promises_) {
    if (!gone_.contains(rank)) ranks.insert(rank);
  }
  return ranks;
}

RankSet MembershipAgreement::with_promise() const {
  RankSet ranks(size_);
  ranks.insert(rank_);
  for (const auto& [rank, promise] : promises_) {
    if (!gone_.contains(rank) && promise.ballot == ballot_) ranks.insert(rank);
  }
  return ranks;
}

RankSet MembershipAgreement::pending() const {
  RankSet ranks(size_);
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const bool expected = rank != rank_ && !gone_.contains(rank) && !reported_.contains(rank);
    if (expected && !promises_.contains(rank)) ranks.insert(rank);
  }
  return ranks;
}

void MembershipAgreement::lead(Nanos now) {
  if (phase_ == Phase::kFollowing) phase_ = Phase::kGathering;
  // Another leader may hold a promise of this rank, too.
  refused_by_ = std::max(refused_by_, promised_);
  if (phase_ == Phase::kGathering) gather(now);
  if (phase_ == Phase::kPreparing) prepare(now);
  if (phase_ == Phase::kProposing) {
    RankSet able = accepts_;
    able.insert_all(with_promise());
    if (is_quorum(accepts_)) {
      decide(proposed_);
    } else if (refused_by_ > ballot_) {
      phase_ = Phase::kPreparing;
      prepare(now);
    } else if (!is_quorum(able)) {
      end_without_quorum(came());
    }
  }
}

void MembershipAgreement::gather(Nanos now) {
  const bool late = now - *joined_at_ >= options_.join_within;
  if (!late && pending().count() > 0) return;
  if (!is_quorum(came())) return end_without_quorum(came());
  ballot_ = {1, rank_};
  // What a rank promised or accepted of others before must be known, too.
  promised_ = std::max(promised_, ballot_);
  phase_ = Phase::kPreparing;
}

void MembershipAgreement::prepare(Nanos now) {
  if (refused_by_ > ballot_) {
    // A leader beside this one may be at work: each tries again after a pause of its own.
    if (attempts_ > 0 && prepare_at_ == Nanos{}) {
      prepare_at_ = now + options_.retry_after * int64_t{std::min(attempts_, 8U)} +
                    options_.retry_after * int64_t{rank_ % 8};
    }
    if (now < prepare_at_) return;
    prepare_at_ = {};
    ++attempts_;
    ballot_ = {refused_by_.round + 1, rank_};
    promised_ = refused_by_ = ballot_;
    for (const uint32_t rank : came().ranks()) {
      if (rank != rank_) send(rank, {Kind::kPrepare, ballot_, {}, RankSet(size_)});
    }
  }
  if (!is_quorum(came())) return end_without_quorum(came());
  if (with_promise() == came()) propose();
}

void MembershipAgreement::propose() {
  const RankSet ready = with_promise();
  proposed_ = ready;
  Ballot highest = accepted_;
  if (highest != Ballot{}) proposed_ = accepted_ranks_;
  for (const uint32_t rank : ready.ranks()) {
    const auto promise = promises_.find(rank);
    if (promise == promises_.end() || promise->second.accepted <= highest) continue;
    highest = promise->second.accepted;
    proposed_ = promise->second.ranks;
  }
  accepted_ = ballot_;
  accepted_ranks_ = proposed_;
  accepts_ = RankSet(size_);
  accepts_.insert(rank_);
  phase_ = Phase::kProposing;
  for (const uint32_t rank : ready.ranks()) {
    if (rank != rank_) send(rank, {Kind::kPropose, ballot_, {}, proposed_});
  }
  if (is_quorum(accepts_)) decide(proposed_);  // of one rank
}

void MembershipAgreement::end_without_quorum(const RankSet& came) {
  for (const uint32_t rank : came.ranks()) {
    if (rank != rank_) send(rank, {Kind::kNoQuorum, {}, {}, came});
  }
  outcome_ = too_few(came);
}

}  // namespace heddle::collectives
