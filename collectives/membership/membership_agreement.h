// MembershipAgreement: by which the ranks of a communicator that has failed agree on those that
// are left. It does no I/O: its owner passes messages, ranks that are gone and the time.
//
// It is single-decree Paxos (Lamport, "Paxos Made Simple", 2001, section 2) whose value is a set of
// ranks, and the newcomers that they take in, led by the lowest rank that is not gone, as in the
// agreement of ULFM (Bouteiller et al., "Practical Scalable Consensus for Pseudo-Synchronous
// Distributed Systems", SC 2015). Each rank sends a promise to that leader, which needs no prepare
// message for the first ballot of each leader. When every rank has promised or is gone, the leader
// proposes those that promised.
//
// Why it is safe, however wrong or late ranks are about each other:
// - A quorum is more than half of the last members, or half of them with rank 0. Any two quorums
//   have a rank in common, so of two parts of a network at most one decides.
// - A rank accepts no ballot below one that it has promised, and reports what it accepted with its
//   promise; a leader proposes what the highest ballot among a quorum's promises accepted. So once
//   a quorum accepted a set, every later ballot proposes that same set (P2c in the source).
// - A ballot has one leader and a leader uses each once: numbers are (round, leader).
// - What a rank promised and accepted is lost only with its process, which then never answers.
// A leader that dies, or does not say that it takes part, is followed by the next rank. Liveness
// needs a quorum that stays and whose ranks come to see the same leader; otherwise it ends at a
// deadline with an error.
//
// Members are trusted not to lie. One that does not can prevent an agreement, but not make
// this process hold more than its mailbox, send more than it was asked, or accept a set that is no
// quorum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "base/ring.h"
#include "collectives/membership/acceptor.h"
#include "collectives/membership/ballot.h"
#include "collectives/membership/followed_leader.h"
#include "collectives/membership/promises.h"
#include "collectives/membership/rank_set.h"
#include "collectives/params.h"

namespace heddle::collectives {

struct MembershipMessage {
  enum class Kind : uint8_t {
    kPromise = 1,   // of `ballot`; `accepted` and its set, or without one, the ranks that are gone
    kPrepare = 2,   // asks for a promise of `ballot`
    kPropose = 3,   // `ranks` under `ballot`
    kAccepted = 4,  // of `ballot`
    kRefused = 5,   // `ballot` was promised, which is higher
    kDecided = 6,   // `ranks` are left
    kNoQuorum = 7,  // the leader ends: only `ranks` came
    kJoined = 8,    // answers a promise: this rank takes part, too
  };

  Kind kind = Kind::kPromise;
  Ballot ballot;
  Ballot accepted;
  RankSet ranks;
  // Of a promise without an accepted set, those that the rank would take in; else those of the set.
  uint64_t newcomers = 0;
};

struct MembershipOptions {
  // A number for the newcomers that this rank would take in; 0: none. They are taken in if all
  // ranks that are left have the same number.
  uint64_t newcomers = 0;
  // A rank that is not gone and has not joined after this is left out.
  Nanos join_within = params::kJoinWithin;
  // And this much later it ends without a decision.
  Nanos agree_within = params::kAgreeWithin;
  // A leader that has not said within this that it takes part is passed over.
  Nanos leader_answers_within = params::kLeaderAnswersWithin;
  // The pause before a leader whose ballot was refused prepares another.
  Nanos retry_after = params::kBallotRetry;
};

class MembershipAgreement {
 public:
  MembershipAgreement(uint32_t rank, uint32_t size, const MembershipOptions& options);

  // This rank takes part from now on. Before, it only remembers what it receives.
  void join(Nanos now);
  bool joined() const { return joined_at_.has_value(); }
  // The connection to that rank has ended, or it cannot be reached. For good.
  void note_gone(uint32_t rank);
  void handle(uint32_t from, const MembershipMessage& message);
  // Does what is due.
  void advance(Nanos now);
  // When advance() is due although nothing comes.
  Nanos due_at() const;

  struct Sending {
    uint32_t to = 0;
    bool connects = false;  // worth a connection; else only where there is one
    MembershipMessage message;
  };
  bool poll_send(Sending& sending);

  // The ranks that are left, this one among them. Errors: kUnavailable (this part is too small),
  // kPeerDead (the others went on without this rank), kTimeout.
  const std::optional<Result<RankSet>>& outcome() const { return outcome_; }
  // Those that the ranks that are left take in; 0: none.
  uint64_t newcomers() const { return decided_newcomers_; }
  // Ranks that neither came nor are gone, of a leader.
  RankSet pending() const;
  bool leads() const { return phase_ != Phase::kFollowing; }

  // More than half of all ranks, or half of them with rank 0.
  static bool is_quorum(const RankSet& ranks);

 private:
  enum class Phase : uint8_t { kFollowing, kGathering, kPreparing, kProposing };

  static constexpr uint32_t kMostRounds = params::kMostAgreementRounds;

  bool makes_sense(const MembershipMessage& message) const;
  void answer_late(uint32_t from, const MembershipMessage& message);
  void note_promise(uint32_t from, const MembershipMessage& message);
  uint32_t leader() const;
  void follow(uint32_t leader, Nanos now);
  void lead(Nanos now);
  void gather(Nanos now);
  void prepare(Nanos now);
  void ask_for_promises();
  void propose();
  void decide(const RankSet& ranks, uint64_t newcomers);
  void end_without_quorum(const RankSet& came);
  void promise_to(uint32_t leader);
  void handle_proposal(uint32_t from, const MembershipMessage& message);
  void send(uint32_t to, MembershipMessage message, bool connects = false);
  void send_to_all(const MembershipMessage& message);
  RankSet came() const { return promises_.came(gone_); }
  RankSet with_promise() const { return promises_.of_ballot(ballot_, gone_); }

  const uint32_t rank_;
  const uint32_t size_;
  const MembershipOptions options_;
  std::optional<Nanos> joined_at_;
  RankSet gone_;      // as this rank found out
  RankSet reported_;  // by others
  RankSet told_;      // the decision, as an answer
  Ring<Sending> sends_;
  std::optional<Result<RankSet>> outcome_;
  uint64_t decided_newcomers_ = 0;

  Acceptor acceptor_;
  FollowedLeader followed_;

  // Of a leader.
  Phase phase_ = Phase::kFollowing;
  Promises promises_;
  Ballot ballot_;
  Ballot refused_by_;     // the highest ballot that others promised
  RankSet asked_;         // for a promise of ballot_
  ProposedSet proposed_;  // under ballot_
  RankSet accepts_;
  Nanos prepare_at_;
  uint32_t attempts_ = 0;
};

}  // namespace heddle::collectives
