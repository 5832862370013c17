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
      told_(size),
      acceptor_(size),
      followed_(size, options.leader_answers_within),
      promises_(rank, size, options.newcomers),
      asked_(size),
      proposed_{{}, RankSet(size), 0},
      accepts_(size) {}

void MembershipAgreement::join(Nanos now) {
  if (joined_at_) return;
  joined_at_ = now;
  promises_.visit_ranks([this](uint32_t rank) {
    send(rank, {Kind::kJoined, {}, {}, RankSet(size_)});
  });
  advance(now);
}

void MembershipAgreement::note_gone(uint32_t rank) {
  if (rank != rank_ && rank < size_) gone_.insert(rank);
}

uint32_t MembershipAgreement::leader() const {
  uint32_t lowest = 0;
  while (lowest < rank_ && (gone_.contains(lowest) || followed_.passed(lowest))) ++lowest;
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
  if (lowest != rank_) return follow(lowest, now);
  lead(now);
}

Nanos MembershipAgreement::due_at() const {
  if (!joined_at_ || outcome_) return Nanos::never();
  if (phase_ == Phase::kGathering) return *joined_at_ + options_.join_within;
  if (phase_ == Phase::kPreparing && prepare_at_ != Nanos{}) return prepare_at_;
  const Nanos end = *joined_at_ + options_.join_within + options_.agree_within;
  if (phase_ != Phase::kFollowing) return end;
  return std::min(end, followed_.answers_until());
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

void MembershipAgreement::follow(uint32_t leader, Nanos now) {
  if (followed_.is(leader)) {
    if (now < followed_.answers_until()) return;
    followed_.pass_over();  // its process lives, and does not take part
    return advance(now);
  }
  followed_.follow(leader, now);
  // The first ballot of each leader needs no prepare message.
  acceptor_.promise({1, leader});
  promise_to(leader);
}

void MembershipAgreement::promise_to(uint32_t leader) {
  const bool accepted = acceptor_.has_accepted();
  const ProposedSet& set = acceptor_.accepted();
  send(leader,
       {Kind::kPromise, acceptor_.promised(), set.ballot, accepted ? set.ranks : gone_,
        accepted ? set.newcomers : options_.newcomers},
       true);
}

// Of ranks that keep to the rules every message does.
bool MembershipAgreement::makes_sense(const MembershipMessage& message) const {
  for (const Ballot& ballot : {message.ballot, message.accepted}) {
    if (ballot.round > kMostRounds || ballot.leader >= size_) return false;
  }
  const bool names_a_set = message.kind == Kind::kPropose || message.kind == Kind::kDecided ||
                           (message.kind == Kind::kPromise && message.accepted != Ballot{});
  return !names_a_set || (message.ranks.size() == size_ && is_quorum(message.ranks));
}

void MembershipAgreement::handle(uint32_t from, const MembershipMessage& message) {
  if (from >= size_ || from == rank_ || !makes_sense(message)) return;
  if (outcome_) return answer_late(from, message);
  const bool followed = joined_at_ && followed_.is(from);
  if (followed) followed_.note_joined();
  switch (message.kind) {
    case Kind::kPromise:
      return note_promise(from, message);
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
      return decide(message.ranks, message.newcomers);
    case Kind::kNoQuorum:
      if (followed) outcome_ = too_few(message.ranks);
      return;
    case Kind::kJoined:
      return;
  }
}

// One that was late, or whose leader died, learns what was decided.
void MembershipAgreement::answer_late(uint32_t from, const MembershipMessage& message) {
  if (!*outcome_ || message.kind == Kind::kDecided || told_.contains(from)) return;
  told_.insert(from);
  send(from, {Kind::kDecided, {}, {}, **outcome_, decided_newcomers_});
}

void MembershipAgreement::note_promise(uint32_t from, const MembershipMessage& message) {
  const bool accepted = message.accepted != Ballot{};
  if (!accepted) reported_.insert_all(message.ranks);
  refused_by_ = std::max(refused_by_, message.ballot);
  promises_.note(from,
                 {message.ballot,
                  {message.accepted, accepted ? message.ranks : RankSet(), message.newcomers}});
  if (joined_at_) send(from, {Kind::kJoined, {}, {}, RankSet(size_)});
}

void MembershipAgreement::handle_proposal(uint32_t from, const MembershipMessage& message) {
  if (!joined_at_ || message.ballot.leader != from) return;
  if (message.ballot < acceptor_.promised()) {
    return send(from, {Kind::kRefused, acceptor_.promised(), {}, RankSet(size_)});
  }
  acceptor_.promise(message.ballot);
  if (message.kind == Kind::kPrepare) return promise_to(from);
  acceptor_.accept({message.ballot, message.ranks, message.newcomers});
  send(from, {Kind::kAccepted, message.ballot, {}, RankSet(size_)});
}

// Each rank sends it to all others: the leader may die before it has.
void MembershipAgreement::decide(const RankSet& ranks, uint64_t newcomers) {
  send_to_all({Kind::kDecided, {}, {}, ranks, newcomers});
  decided_newcomers_ = newcomers;
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

RankSet MembershipAgreement::pending() const {
  RankSet ranks(size_);
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const bool expected = rank != rank_ && !gone_.contains(rank) && !reported_.contains(rank);
    if (expected && !promises_.has(rank)) ranks.insert(rank);
  }
  return ranks;
}

void MembershipAgreement::lead(Nanos now) {
  if (phase_ == Phase::kFollowing) phase_ = Phase::kGathering;
  // Another leader may hold a promise of this rank, too.
  refused_by_ = std::max(refused_by_, acceptor_.promised());
  if (phase_ == Phase::kGathering) gather(now);
  if (phase_ == Phase::kPreparing) prepare(now);
  if (phase_ == Phase::kProposing) {
    RankSet able = accepts_;
    able.insert_all(with_promise());
    if (is_quorum(accepts_)) {
      decide(proposed_.ranks, proposed_.newcomers);
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
  acceptor_.promise(ballot_);
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
    refused_by_ = ballot_;
    acceptor_.promise(ballot_);
    asked_ = RankSet(size_);
  }
  if (!is_quorum(came())) return end_without_quorum(came());
  if (with_promise() == came()) return propose();
  ask_for_promises();
}

// Those that have not promised this ballot, also one that came later; each once.
void MembershipAgreement::ask_for_promises() {
  const RankSet ready = with_promise();
  for (const uint32_t rank : came().ranks()) {
    if (ready.contains(rank) || asked_.contains(rank)) continue;
    asked_.insert(rank);
    send(rank, {Kind::kPrepare, ballot_, {}, RankSet(size_)});
  }
}

void MembershipAgreement::propose() {
  const RankSet ready = with_promise();
  proposed_ = promises_.to_propose(ready, acceptor_.accepted());
  proposed_.ballot = ballot_;
  acceptor_.accept(proposed_);
  accepts_ = RankSet(size_);
  accepts_.insert(rank_);
  phase_ = Phase::kProposing;
  for (const uint32_t rank : ready.ranks()) {
    if (rank == rank_) continue;
    send(rank, {Kind::kPropose, ballot_, {}, proposed_.ranks, proposed_.newcomers});
  }
  if (is_quorum(accepts_)) decide(proposed_.ranks, proposed_.newcomers);  // of one rank
}

void MembershipAgreement::end_without_quorum(const RankSet& came) {
  for (const uint32_t rank : came.ranks()) {
    if (rank != rank_) send(rank, {Kind::kNoQuorum, {}, {}, came});
  }
  outcome_ = too_few(came);
}

}  // namespace heddle::collectives
