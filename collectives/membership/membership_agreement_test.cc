// Ranks that agree on who is left, over connections that delay and end, in thousands of seeded
// histories: ranks die at any message, come late, stop and come back, and networks part.
#include "collectives/membership/membership_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/sanitized.h"

namespace heddle::collectives {
namespace {

struct Scene {
  uint32_t ranks = 4;
  uint32_t dead = 0;                            // before any joins
  uint32_t dying = 0;                           // at some time later
  uint32_t stopped = 0;                         // for some time; the others take it for dead
  uint32_t absent = 0;                          // live and never join
  std::vector<uint32_t> never_join = {};        // the same, these
  std::map<uint32_t, Nanos> late = {};          // when these join
  std::map<uint32_t, uint64_t> newcomers = {};  // the number of those that each would take in
  bool parts = false;                           // into two, at some time
  uint32_t broken = 0;          // connections between ranks that live, each at some time
  bool sees_all_deaths = true;  // else some ranks learn of each death late
};

// A network of ranks. Between two that live and are not apart, messages arrive in their order,
// after a random delay; each end of a connection that has ended notices that after a random delay.
class Histories {
 public:
  Histories(const Scene& scene, uint64_t seed) : scene_(scene), random_(seed) {
    for (uint32_t rank = 0; rank < scene.ranks; ++rank) {
      const auto number = scene.newcomers.find(rank);
      nodes_.push_back(std::make_unique<Node>(
          rank, scene.ranks, number == scene.newcomers.end() ? 0 : number->second));
    }
    links_.assign(size_t{scene.ranks} * scene.ranks, {});
    std::vector<uint32_t> order;
    for (uint32_t rank = 0; rank < scene.ranks; ++rank) order.push_back(rank);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_.between(0, i - 1)]);
    }
    size_t next = 0;
    for (uint32_t i = 0; i < scene.dead; ++i) kill_at(order[next++], Nanos{});
    for (uint32_t i = 0; i < scene.dying; ++i) kill_at(order[next++], some_time());
    for (uint32_t i = 0; i < scene.stopped; ++i) {
      Node& node = *nodes_[order[next++]];
      node.stops_at = some_time();
      node.resumes_at = node.stops_at + millis(static_cast<int64_t>(random_.between(1, 8000)));
    }
    for (uint32_t i = 0; i < scene.absent; ++i) nodes_[order[next++]]->joins_at = Nanos::never();
    for (const uint32_t rank : scene.never_join) nodes_[rank]->joins_at = Nanos::never();
    for (const auto& [rank, at] : scene.late) nodes_[rank]->joins_at = at;
    for (auto& node : nodes_) {
      if (node->joins_at == Nanos{}) node->joins_at = some_time();
    }
    for (uint32_t i = 0; i < scene.broken && scene.ranks > 1; ++i) {
      const uint64_t one = random_.between(0, scene.ranks - 1);
      const uint64_t other = (one + random_.between(1, scene.ranks - 1)) % scene.ranks;
      const Nanos at = some_time();
      link(uint32_t(one), uint32_t(other)).breaks_at = at;
      link(uint32_t(other), uint32_t(one)).breaks_at = at;
    }
    if (scene.parts) {
      parts_at_ = some_time();
      for (auto& node : nodes_) node->side = static_cast<uint32_t>(random_.between(0, 1));
    }
  }

  void run() {
    for (now_ = Nanos{}; now_ < kEnd; now_ += millis(1)) {
      bool ended = now_ > millis(100);
      for (uint32_t rank = 0; rank < nodes_.size(); ++rank) ended &= turn(rank);
      if (ended) return;
    }
  }

  // --- what must hold ---

  void check() const {
    const RankSet* decided = nullptr;
    std::optional<uint64_t> newcomers;
    for (const auto& node : nodes_) {
      if (node->dead(kEnd) || node->joins_at == Nanos::never()) continue;
      ASSERT_TRUE(node->agreement.outcome()) << "it ends in bounded time";
      const Result<RankSet>& outcome = *node->agreement.outcome();
      if (!outcome) continue;
      EXPECT_TRUE(outcome->contains(node->rank));
      EXPECT_TRUE(MembershipAgreement::is_quorum(*outcome)) << outcome->text();
      if (!newcomers) newcomers = node->agreement.newcomers();
      EXPECT_EQ(node->agreement.newcomers(), *newcomers) << "ranks take in different newcomers";
      if (decided == nullptr) decided = &*outcome;
      EXPECT_EQ(*outcome, *decided) << "two ranks that go on disagree";
    }
  }
  // Those that died while others decided decided the same, if at all.
  void check_dead() const {
    const RankSet* decided = nullptr;
    for (const auto& node : nodes_) {
      if (!node->agreement.outcome() || !*node->agreement.outcome()) continue;
      if (decided == nullptr) decided = &**node->agreement.outcome();
      EXPECT_EQ(**node->agreement.outcome(), *decided);
    }
  }
  uint32_t living() const {
    uint32_t living = 0;
    for (const auto& node : nodes_) living += node->dead(kEnd) ? 0 : 1;
    return living;
  }
  RankSet living_ranks() const {
    RankSet living(scene_.ranks);
    for (const auto& node : nodes_) {
      if (!node->dead(kEnd)) living.insert(node->rank);
    }
    return living;
  }
  uint32_t going_on() const {
    uint32_t going_on = 0;
    for (const auto& node : nodes_) {
      const bool decided = node->agreement.outcome() && *node->agreement.outcome();
      going_on += decided && !node->dead(kEnd) ? 1 : 0;
    }
    return going_on;
  }
  Nanos last_end() const {
    Nanos last;
    for (const auto& node : nodes_) {
      if (!node->dead(kEnd)) last = std::max(last, node->ended_at);
    }
    return last;
  }
  MembershipAgreement& agreement(uint32_t rank) { return nodes_[rank]->agreement; }

 private:
  static constexpr Nanos kEnd = seconds(20);
  static constexpr Nanos kSilent = seconds(3);  // until the others take it for dead

  struct Node {
    Node(uint32_t which, uint32_t size, uint64_t newcomers)
        : rank(which), agreement(which, size, {.newcomers = newcomers}) {}
    bool dead(Nanos now) const { return now >= dies_at; }
    bool stopped(Nanos now) const { return now >= stops_at && now < resumes_at; }

    const uint32_t rank;
    MembershipAgreement agreement;
    Nanos dies_at = Nanos::never();
    Nanos stops_at = Nanos::never();
    Nanos resumes_at = Nanos::never();
    Nanos joins_at;
    Nanos ended_at;
    uint32_t side = 0;
  };
  struct InFlight {
    Nanos at;
    MembershipMessage message;
  };
  // From one rank to another.
  struct Link {
    Ring<InFlight> in_flight;
    Nanos latest;
    bool closed = false;  // the receiver has noticed
    Nanos breaks_at = Nanos::never();
    Nanos closes_at = Nanos::never();
  };

  Nanos some_time() { return micros(static_cast<int64_t>(random_.between(0, 60'000))); }
  void kill_at(uint32_t rank, Nanos at) {
    nodes_[rank]->dies_at = at;
    nodes_[rank]->joins_at = some_time();
  }
  Link& link(uint32_t from, uint32_t to) { return links_[size_t{from} * scene_.ranks + to]; }
  bool apart(const Node& a, const Node& b) const { return now_ >= parts_at_ && a.side != b.side; }
  // Whether what `from` sends does not arrive at `to` any more.
  bool cut(const Node& from, const Node& to) {
    return from.dead(now_) || apart(from, to) || now_ >= link(from.rank, to.rank).breaks_at ||
           link(from.rank, to.rank).closed || link(to.rank, from.rank).closed;
  }

  // Whether it has nothing more to do.
  bool turn(uint32_t rank) {
    Node& node = *nodes_[rank];
    if (node.dead(now_)) return true;
    if (node.stopped(now_)) return false;
    for (uint32_t from = 0; from < nodes_.size(); ++from) {
      if (from != rank) receive(*nodes_[from], node);
    }
    if (now_ >= node.joins_at) node.agreement.join(now_);
    node.agreement.advance(now_);
    MembershipAgreement::Sending sending;
    while (node.agreement.poll_send(sending)) {
      Node& to = *nodes_[sending.to];
      if (cut(node, to)) continue;
      Link& out = link(rank, sending.to);
      const Nanos delay = micros(static_cast<int64_t>(random_.between(10, 20'000)));
      out.latest = std::max(out.latest, now_ + delay);
      out.in_flight.push_back({out.latest, std::move(sending.message)});
    }
    const bool ended = node.agreement.outcome().has_value();
    if (ended && node.ended_at == Nanos{}) node.ended_at = now_;
    return ended || node.joins_at == Nanos::never();
  }

  void receive(Node& from, Node& to) {
    Link& in = link(from.rank, to.rank);
    if (in.closed) return;
    while (!in.in_flight.empty() && in.in_flight.front().at <= now_) {
      const InFlight arrived = in.in_flight.pop_front();
      to.agreement.handle(from.rank, arrived.message);
    }
    // A process that died is noticed soon, silence only after a while.
    const bool silent = apart(from, to) || (from.stopped(now_) && now_ - from.stops_at >= kSilent);
    const bool ended =
        from.dead(now_) || silent || now_ >= in.breaks_at || link(to.rank, from.rank).closed;
    if (ended && in.closes_at == Nanos::never()) {
      const bool late = apart(from, to) || (!scene_.sees_all_deaths && random_.between(0, 1) == 0);
      const int64_t most = late ? 3'000'000 : 30'000;
      in.closes_at = now_ + micros(static_cast<int64_t>(random_.between(0, uint64_t(most))));
    }
    if (now_ < in.closes_at) return;
    in.closed = true;
    to.agreement.note_gone(from.rank);
  }

  const Scene scene_;
  Random random_;
  Nanos now_;
  Nanos parts_at_ = Nanos::never();
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Link> links_;
};

constexpr uint64_t kSeeds = kSanitized ? 6 : 40;

class MembershipAgreementOf : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MembershipAgreementOf, testing::Values(1, 2, 3, 4, 5, 8, 13));

TEST_P(MembershipAgreementOf, AllLiveRanksIsAllOfThem) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Histories histories({.ranks = GetParam()}, seed);
    histories.run();
    histories.check();
    EXPECT_EQ(histories.going_on(), GetParam()) << "seed " << seed;
    EXPECT_LT(histories.last_end(), millis(250)) << "one gathering and one round; seed " << seed;
  }
}

TEST_P(MembershipAgreementOf, RanksOfWhichSomeDiedIsThoseThatLive) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const uint32_t dead = GetParam() / 3;
    Histories histories({.ranks = GetParam(), .dead = dead}, seed);
    histories.run();
    histories.check();
    const bool quorum = MembershipAgreement::is_quorum(histories.living_ranks());
    EXPECT_EQ(histories.going_on(), quorum ? GetParam() - dead : 0) << "seed " << seed;
    EXPECT_LT(histories.last_end(), millis(300)) << "seed " << seed;
  }
}

TEST_P(MembershipAgreementOf, RanksThatDieMeanwhileNeverDisagree) {
  uint32_t went_on = 0;
  for (uint64_t seed = 1; seed <= 4 * kSeeds; ++seed) {
    const uint32_t dying = GetParam() / 2;
    Histories histories({.ranks = GetParam(), .dying = dying, .sees_all_deaths = seed % 2 == 0},
                        seed);
    histories.run();
    histories.check();
    histories.check_dead();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    went_on += histories.going_on() > 0 ? 1 : 0;
  }
  EXPECT_GT(went_on, kSeeds) << "it is no use to end always";
}

TEST_P(MembershipAgreementOf, PartsOfANetworkIsOfOnePartAtMost) {
  uint32_t went_on = 0;
  for (uint64_t seed = 1; seed <= 4 * kSeeds; ++seed) {
    Histories histories({.ranks = GetParam(), .parts = true}, seed);
    histories.run();
    histories.check();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    went_on += histories.going_on() > 0 ? 1 : 0;
  }
  EXPECT_GT(went_on, kSeeds);
}

TEST_P(MembershipAgreementOf, AStoppedRankThatComesBackEndsWithAnErrorOrIsOneOfThem) {
  for (uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    Histories histories({.ranks = GetParam(), .stopped = GetParam() > 1 ? 1U : 0U}, seed);
    histories.run();
    histories.check();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

// Ranks that live see different leaders, which are at work beside each other.
TEST_P(MembershipAgreementOf, RanksWithoutAConnectionToAllNeverDisagree) {
  uint32_t went_on = 0;
  for (uint64_t seed = 1; seed <= 8 * kSeeds; ++seed) {
    const uint32_t ranks = GetParam();
    Histories histories({.ranks = ranks,
                         .dying = seed % 2 == 0 ? ranks / 5 : 0,
                         .broken = ranks,
                         .sees_all_deaths = seed % 3 == 0},
                        seed);
    histories.run();
    histories.check();
    histories.check_dead();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    went_on += histories.going_on() > 0 ? 1 : 0;
  }
  EXPECT_GT(went_on, kSeeds);
}

TEST_P(MembershipAgreementOf, EverythingAtOnceNeverDisagrees) {
  for (uint64_t seed = 1; seed <= 4 * kSeeds; ++seed) {
    const uint32_t ranks = GetParam();
    Histories histories({.ranks = ranks,
                         .dead = ranks / 6,
                         .dying = ranks / 4,
                         .stopped = ranks / 4,
                         .absent = seed % 3 == 0 ? ranks / 5 : 0,
                         .parts = seed % 4 == 0,
                         .sees_all_deaths = seed % 2 == 0},
                        seed);
    histories.run();
    histories.check();
    histories.check_dead();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

// What a rank answers to a message of another.
std::vector<MembershipMessage> answers(MembershipAgreement& agreement, uint32_t from,
                                       const MembershipMessage& message) {
  MembershipAgreement::Sending sending;
  while (agreement.poll_send(sending)) continue;
  agreement.handle(from, message);
  std::vector<MembershipMessage> all;
  while (agreement.poll_send(sending)) all.push_back(sending.message);
  return all;
}

TEST(MembershipAgreement, ARankThatPromisedAcceptsNothingLowerAndReportsWhatItAccepted) {
  using Kind = MembershipMessage::Kind;
  MembershipAgreement agreement(3, 4, {});
  agreement.join(seconds(1));
  RankSet all(4);
  for (uint32_t rank = 0; rank < 4; ++rank) all.insert(rank);
  const auto accepted = answers(agreement, 0, {Kind::kPropose, {1, 0}, {}, all});
  ASSERT_EQ(accepted.size(), 1U);
  EXPECT_EQ(accepted[0].kind, Kind::kAccepted);
  const auto promised = answers(agreement, 1, {Kind::kPrepare, {2, 1}, {}, RankSet(4)});
  ASSERT_EQ(promised.size(), 1U);
  EXPECT_EQ(promised[0].kind, Kind::kPromise);
  EXPECT_EQ(promised[0].accepted, (Ballot{1, 0}));
  EXPECT_EQ(promised[0].ranks, all);
  const auto refused = answers(agreement, 0, {Kind::kPropose, {1, 0}, {}, all});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].kind, Kind::kRefused);
  EXPECT_EQ(refused[0].ballot, (Ballot{2, 1}));
  EXPECT_TRUE(answers(agreement, 0, {Kind::kPropose, {9, 2}, {}, all}).empty()) << "not its own";
}

TEST(MembershipAgreement, ARoundBeyondAllBoundsIsIgnored) {
  using Kind = MembershipMessage::Kind;
  MembershipAgreement agreement(0, 3, {});
  agreement.join(seconds(1));
  for (const uint32_t round : {UINT32_MAX, UINT32_MAX - 1, 1U << 31}) {
    agreement.handle(1, {Kind::kPromise, {round, 1}, {}, RankSet(3)});
    agreement.handle(1, {Kind::kRefused, {round, 1}, {}, RankSet(3)});
  }
  agreement.handle(1, {Kind::kPromise, {1, 7}, {}, RankSet(3)});  // no such leader
  EXPECT_EQ(agreement.pending().count(), 2U) << "nobody came";
  for (const uint32_t rank : {1U, 2U}) {
    agreement.handle(rank, {Kind::kPromise, {1, 0}, {}, RankSet(3)});
  }
  agreement.advance(seconds(1));
  MembershipAgreement::Sending sending;
  bool proposed = false;
  while (agreement.poll_send(sending)) {
    proposed |= sending.message.kind == Kind::kPropose && sending.message.ballot == Ballot{1, 0};
  }
  EXPECT_TRUE(proposed);
}

TEST(MembershipAgreement, ASetThatIsNoQuorumIsNotDecidedNorAccepted) {
  using Kind = MembershipMessage::Kind;
  MembershipAgreement agreement(3, 4, {});
  agreement.join(seconds(1));
  RankSet small(4);
  small.insert(3);
  EXPECT_TRUE(answers(agreement, 0, {Kind::kDecided, {}, {}, small}).empty());
  EXPECT_TRUE(answers(agreement, 0, {Kind::kPropose, {1, 0}, {}, small}).empty());
  EXPECT_FALSE(agreement.outcome());
}

TEST(MembershipAgreement, ADecisionIsAnsweredOnceToEachRankHoweverOftenItAsks) {
  using Kind = MembershipMessage::Kind;
  MembershipAgreement agreement(1, 3, {});
  agreement.join(seconds(1));
  RankSet two(3);
  two.insert(0);
  two.insert(1);
  agreement.handle(0, {Kind::kDecided, {}, {}, two});
  ASSERT_TRUE(agreement.outcome());
  size_t told = 0;
  for (int i = 0; i < 100; ++i) {
    told += answers(agreement, 2, {Kind::kPromise, {1, 1}, {}, RankSet(3)}).size();
  }
  EXPECT_EQ(told, 1U);
}

TEST(MembershipAgreement, OnlyTheLeaderThatIsFollowedEndsItForWantOfRanks) {
  using Kind = MembershipMessage::Kind;
  MembershipAgreement agreement(2, 5, {});
  agreement.join(seconds(1));
  agreement.handle(1, {Kind::kNoQuorum, {}, {}, RankSet(5)});
  EXPECT_FALSE(agreement.outcome());
  agreement.handle(0, {Kind::kNoQuorum, {}, {}, RankSet(5)});
  EXPECT_TRUE(agreement.outcome());
}

TEST(MembershipAgreement, QuorumsMeetInARank) {
  for (uint32_t size = 1; size <= 6; ++size) {
    for (uint32_t a = 0; a < 1U << size; ++a) {
      for (uint32_t b = 0; b < 1U << size; ++b) {
        if ((a & b) != 0) continue;
        RankSet one(size);
        RankSet other(size);
        for (uint32_t rank = 0; rank < size; ++rank) {
          if ((a >> rank & 1) != 0) one.insert(rank);
          if ((b >> rank & 1) != 0) other.insert(rank);
        }
        EXPECT_FALSE(MembershipAgreement::is_quorum(one) && MembershipAgreement::is_quorum(other));
      }
    }
  }
}

TEST(MembershipAgreement, ARankThatNeverJoinsIsLeftOut) {
  Histories histories({.ranks = 5, .absent = 1}, 1);
  histories.run();
  histories.check();
  EXPECT_EQ(histories.going_on(), 4U);
  EXPECT_LT(histories.last_end(), seconds(6));
}

// Its process lives, so no connection ends by which the others notice that it does not lead.
TEST(MembershipAgreement, LeadersThatNeverJoinAreLeftOut) {
  for (const std::vector<uint32_t>& absent : {std::vector<uint32_t>{0}, {0, 1}, {1, 3}}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Histories histories({.ranks = 6, .never_join = absent}, seed);
      histories.run();
      histories.check();
      EXPECT_EQ(histories.going_on(), 6U - absent.size()) << "seed " << seed;
      EXPECT_LT(histories.last_end(), seconds(8)) << "seed " << seed;
    }
  }
}

TEST(MembershipAgreement, NewcomersAreTakenInIfAllThatAreLeftKnowThem) {
  uint32_t taken_in = 0;
  for (uint64_t seed = 1; seed <= 8 * kSeeds; ++seed) {
    std::map<uint32_t, uint64_t> newcomers;
    const auto stranger = static_cast<uint32_t>(seed % 7);  // 6: all know the same
    for (uint32_t rank = 0; rank < 6; ++rank) newcomers[rank] = rank == stranger ? seed % 2 : 77;
    Histories histories({.ranks = 6, .dying = seed % 3 == 0 ? 2U : 0U, .newcomers = newcomers},
                        seed);
    histories.run();
    histories.check();
    for (uint32_t rank = 0; rank < 6; ++rank) {
      const MembershipAgreement& agreement = histories.agreement(rank);
      if (!agreement.outcome() || !*agreement.outcome()) continue;
      taken_in += agreement.newcomers() == 77 ? 1 : 0;
      const bool all_know = stranger == 6 || !(*agreement.outcome())->contains(stranger);
      EXPECT_EQ(agreement.newcomers(), all_know ? 77U : 0U) << "seed " << seed;
    }
  }
  EXPECT_GT(taken_in, 2 * kSeeds);
}

// Longer than its ranks wait for a leader that says nothing, and shorter than for a rank.
TEST(MembershipAgreement, ALeaderThatComesLateIsOneOfThemAll) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const int64_t late_ms : {900, 1100, 2500, 4500}) {
      Histories histories({.ranks = 6, .late = {{0, millis(late_ms)}, {1, millis(late_ms / 2)}}},
                          seed);
      histories.run();
      histories.check();
      EXPECT_EQ(histories.going_on(), 6U) << "seed " << seed << ", late by " << late_ms << " ms";
    }
  }
}

TEST(MembershipAgreement, OfTwoHalvesThatWithRankZeroGoesOn) {
  Histories histories({.ranks = 2, .dead = 1}, 3);
  histories.run();
  const bool zero_lives = histories.living_ranks().contains(0);
  EXPECT_EQ(histories.going_on(), zero_lives ? 1U : 0U);
  const auto& outcome = histories.agreement(zero_lives ? 0 : 1).outcome();
  if (!zero_lives) {
    EXPECT_NE(outcome->error().message().find("of 2 ranks only 1 came (1), which is no majority"),
              std::string::npos)
        << outcome->error().message();
  }
}

}  // namespace
}  // namespace heddle::collectives
