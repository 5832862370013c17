// MembershipAgreement: by which the ranks of a communicator that has failed agree on those that
// are left. It does no I/O: its owner passes messages, ranks that are gone and the time.
//
// It is single-decree Paxos (Lamport, "Paxos Made Simple", 2001, section 2) whose value is a set of
// ranks, led by the lowest rank that is not gone, as in the agreement of ULFM (Bouteiller et al.,
// "Practical Scalable Consensus for Pseudo-Synchronous Distributed Systems", SC 2015). Each rank
// sends a promise to that leader, which needs no prepare message for the first ballot of each
// leader. When every rank has promised or is gone, the leader proposes those that promised.
//
// Why it is safe, however wrong or late ranks are about each other:
// - A quorum is more than half of the last members, or half of them with rank 0. Any two quorums
//   have a rank in common, so of two parts of a network at most one decides.
// - A rank accepts no ballot below one that it has promised, and reports what it accepted with its
//   promise; a leader proposes what the highest ballot among a quorum's promises accepted. So once
//   a quorum accepted a set, every later ballot proposes that same set (P2c in the source).
// - A ballot has one leader and a leader uses each once: numbers are (round, leader).
// - What a rank promised and accepted is lost only with its process, which then never answers.
// A leader that dies is followed by the next rank. Liveness needs a quorum that stays and whose
// ranks come to see the same leader; otherwise it ends at a deadline with an error.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "base/ring.h"
#include "collectives/membership/rank_set.h"
#include "collectives/params.h"

namespace heddle::collectives {

// Number of a proposal; zero: none.
struct Ballot {
  uint32_t round = 0;
  uint32_t leader = 0;
  auto operator<=>(const Ballot&) const = default;
};

struct MembershipMessage {
  enum class Kind : uint8_t {
    kPromise = 1,   // of `ballot`; `accepted` and its set, or without one, the ranks that are gone
    kPrepare = 2,   // asks for a promise of `ballot`
    kPropose = 3,   // `ranks` under `ballot`
    kAccepted = 4,  // of `ballot`
    kRefused = 5,   // `ballot` was promised, which is higher
    kDecided = 6,   // `ranks` are left
    kNoQuorum = 7,  // the leader ends: only `ranks` came
  };

  Kind kind = Kind::kPromise;
  Ballot ballot;
  Ballot accepted;
  RankSet ranks;
};

struct MembershipOptions {
  // A rank that is not gone and has not joined after this is left out.
  Nanos join_within = params::kJoinWithin;
  // And this much later it ends without a decision.
  Nanos agree_within = params::kAgreeWithin;
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
  // Ranks that neither came nor are gone, of a leader.
  RankSet pending() const;
  bool leads() const { return phase_ != Phase::kFollowing; }

  // More than half of `of` ranks, or half of them with rank 0.
  static bool is_quorum(const RankSet& ranks);

 private:
  enum class Phase : uint8_t { kFollowing, kGathering, kPreparing, kProposing };
  struct Promise {
    Ballot ballot;
    Ballot accepted;
    RankSet ranks;  // accepted
  };

  uint32_t leader() const;
  void follow(uint32_t leader);
  void lead(Nanos now);
  void gather(Nanos now);
  void prepare(Nanos now);
  void propose();
  void decide(const RankSet& ranks);
  void end_without_quorum(const RankSet& came);
  void promise_to(uint32_t leader);
  void handle_proposal(uint32_t from, const MembershipMessage& message);
  void send(uint32_t to, MembershipMessage message, bool connects = false);
  void send_to_all(const MembershipMessage& message);
  RankSet came() const;
  RankSet with_promise() const;

  const uint32_t rank_;
  const uint32_t size_;
  const MembershipOptions options_;
  std::optional<Nanos> joined_at_;
  RankSet gone_;      // as this rank found out
  RankSet reported_;  // by others
  Ring<Sending> sends_;
  std::optional<Result<RankSet>> outcome_;

  // Of every rank.
  Ballot promised_;
  Ballot accepted_;
  RankSet accepted_ranks_;
  std::optional<uint32_t> followed_;

  // Of a leader.
  Phase phase_ = Phase::kFollowing;
  Ballot ballot_;
  Ballot refused_by_;                     // the highest ballot that others promised
  std::map<uint32_t, Promise> promises_;  // the latest of each rank
  RankSet proposed_;
  RankSet accepts_;
  Nanos prepare_at_;
  uint32_t attempts_ = 0;
};

}  // namespace heddle::collectives
