// Groups between the NICs of two hosts: who is asked, what an answer changes, what is never done.
#include "transport/path/nic_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace heddle::transport {
namespace {

Address ipv6(uint8_t host, uint8_t nic) {
  Address address;
  address.host[0] = 0xfd;
  address.host[14] = nic;
  address.host[15] = host;
  return address;
}

Address ipv4(uint8_t host, uint8_t nic) {
  Address address;
  address.host[10] = address.host[11] = 0xff;
  address.host[12] = 10;
  address.host[13] = nic;
  address.host[15] = host;
  return address;
}

std::vector<std::byte> told(const std::vector<Address>& nics) {
  std::vector<std::byte> bytes;
  for (const Address& nic : nics) {
    for (const uint8_t byte : nic.host) bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

// One side, host 1 towards host 2, and a network in which stated pairs of NICs reach each other.
class NicPairsTest : public testing::Test {
 protected:
  void make(uint8_t own, uint8_t peers, uint16_t paths = 8, NicPair home = {0, 0}) {
    for (uint8_t i = 0; i < own; ++i) own_.push_back(ipv6(1, i));
    for (uint8_t i = 0; i < peers; ++i) peers_.push_back(ipv6(2, i));
    open(paths, home);
  }

  void open(uint16_t paths, NicPair home) {
    NicPairsOptions options;
    if (own_.size() > 1) options.own = own_;
    const std::vector<std::byte> bytes = told(peers_);
    if (peers_.size() > 1) options.peer = bytes;
    options.home_peer = peers_[home.peer_nic];
    options.home_nic = home.nic;
    options.paths = paths;
    pairs_ = std::make_unique<NicPairs>(now_, options);
  }

  // Sends what is due; what reaches the peer is answered. Returns what was asked.
  std::vector<NicPair> turn() {
    std::vector<NicPair> asked;
    NicPairs::Message probe;
    while (pairs_->poll_probe(now_, secrets_, probe)) {
      asked.push_back(probe.pair);
      if (!reaches(probe.pair)) continue;
      pairs_->on_answer(peers_[probe.pair.peer_nic], probe.pair.nic, probe.token);
    }
    return asked;
  }

  // Runs for `span`; returns the number of probes to each NIC of the peer.
  std::array<uint32_t, kMaxNics> run_for(Nanos span) {
    std::array<uint32_t, kMaxNics> asked{};
    const Nanos end = now_ + span;
    while (pairs_->next_timeout() <= end) {
      now_ = std::max(now_, pairs_->next_timeout());
      for (const NicPair& pair : turn()) ++asked[pair.peer_nic];
    }
    now_ = end;
    return asked;
  }

  bool reaches(NicPair pair) const {
    return std::find(dead_.begin(), dead_.end(), pair) == dead_.end();
  }

  std::vector<NicPair> taken() const {
    std::vector<NicPair> all;
    for (uint16_t path = 0; path < 8; ++path) all.push_back(pairs_->pair_of(path));
    return all;
  }

  Secrets secrets_{1};
  Nanos now_ = seconds(1);
  std::vector<Address> own_;
  std::vector<Address> peers_;
  std::vector<NicPair> dead_;
  std::unique_ptr<NicPairs> pairs_;
};

using Pairs = std::vector<NicPair>;

TEST_F(NicPairsTest, PathsGoFromFirstToFirstAndFromSecondToSecond) {
  make(2, 2);
  EXPECT_EQ(taken(), Pairs(8, NicPair{0, 0})) << "until an answer came";
  EXPECT_EQ(turn(), (Pairs{{1, 1}})) << "the handshake has proven the other";
  EXPECT_EQ(taken(), (Pairs{{0, 0}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, {1, 1}}));
  run_for(seconds(60));
  EXPECT_EQ(pairs_->next_timeout(), Nanos::never()) << "nothing more to find out";
}

TEST_F(NicPairsTest, AllNicsAreUsedWhereTheOtherSideHasFewer) {
  make(3, 1);
  run_for(seconds(1));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 0}));
  EXPECT_EQ(pairs_->pair_of(2), (NicPair{2, 0}));
}

TEST_F(NicPairsTest, AllNicsOfThePeerAreUsedWhereThisSideHasOne) {
  make(1, 2);
  run_for(seconds(1));
  EXPECT_EQ(pairs_->pair_of(0), (NicPair{0, 0}));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{0, 1}));
}

TEST_F(NicPairsTest, ASilentPairIsProbedLessAndLessAndGetsNoPath) {
  make(2, 2);
  dead_ = {{1, 1}, {1, 0}, {0, 1}};
  EXPECT_LE(run_for(seconds(1))[1], 6u);
  EXPECT_LE(run_for(seconds(100))[1], 14u) << "in the end every ten seconds";
  EXPECT_EQ(taken(), Pairs(8, NicPair{0, 0}));
  dead_.clear();
  run_for(seconds(10));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 1}));
}

TEST_F(NicPairsTest, AHostWhoseNicsStandInAnotherOrderIsReachedCrosswise) {
  dead_ = {{0, 0}, {1, 1}};
  make(2, 2, 8, {0, 1});
  run_for(seconds(2));
  EXPECT_EQ(pairs_->pair_of(0), (NicPair{0, 1}));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 0}));
}

TEST_F(NicPairsTest, TheHandshakesPairGivesWayToTheAlignedOne) {
  make(2, 2, 8, {0, 1});
  run_for(seconds(1));
  EXPECT_EQ(pairs_->pair_of(0), (NicPair{0, 0}));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 1}));
}

TEST_F(NicPairsTest, ADeadPairOfTwoIsLeftToRecovery) {
  make(2, 2);
  run_for(seconds(1));
  dead_ = {{1, 1}, {0, 1}};
  pairs_->set_works(now_, 1, false);
  const auto asked = run_for(seconds(60));
  EXPECT_EQ(asked[0] + asked[1], 0u) << "the other NICs are used as they are";
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 1}));
}

TEST_F(NicPairsTest, WhereNoAlignedPairWorksACrossedOneIsTakenAndGivenUpAgain) {
  make(2, 2);
  run_for(seconds(1));
  dead_ = {{0, 0}, {1, 1}, {0, 1}};  // one NIC is left on either side
  pairs_->set_works(now_, 0, false);
  pairs_->set_works(now_, 1, false);
  run_for(seconds(3));
  const Pairs now_taken = taken();
  EXPECT_NE(std::find(now_taken.begin(), now_taken.end(), NicPair{1, 0}), now_taken.end());
  pairs_->set_works(now_, pairs_->pair_of(0) == NicPair{1, 0} ? 0 : 1, true);
  dead_.clear();
  run_for(seconds(20));
  pairs_->set_works(now_, 0, true);
  pairs_->set_works(now_, 1, true);
  EXPECT_EQ(pairs_->pair_of(0), (NicPair{0, 0}));
  EXPECT_EQ(pairs_->pair_of(1), (NicPair{1, 1}));
}

TEST_F(NicPairsTest, AConnectionOfOnePathHasOneGroup) {
  make(4, 4, 1, {2, 2});
  EXPECT_EQ(pairs_->groups(), 1u);
  EXPECT_EQ(run_for(seconds(30)), (std::array<uint32_t, kMaxNics>{}));
  EXPECT_EQ(pairs_->pair_of(0), (NicPair{2, 2}));
}

TEST_F(NicPairsTest, NothingIsSentBetweenIPv4AndIPv6) {
  own_ = {ipv4(1, 0), ipv6(1, 1)};
  peers_ = {ipv4(2, 0), ipv6(2, 1)};
  open(8, {0, 0});
  EXPECT_EQ(turn(), (Pairs{{1, 1}}));
  own_ = {ipv4(1, 0), ipv4(1, 1)};
  open(8, {0, 0});
  run_for(seconds(30));
  EXPECT_EQ(taken(), Pairs(8, NicPair{0, 0}));
}

TEST_F(NicPairsTest, OnlyTheTokenFromWhereItWasAskedCounts) {
  make(2, 2);
  NicPairs::Message probe;
  ASSERT_TRUE(pairs_->poll_probe(now_, secrets_, probe));
  EXPECT_EQ(pairs_->on_answer(peers_[1], 1, probe.token + 1), 0u);
  EXPECT_EQ(pairs_->on_answer(peers_[1], 1, 0), 0u);
  EXPECT_EQ(pairs_->on_answer(peers_[0], 1, probe.token), 0u) << "another NIC of the peer";
  EXPECT_EQ(pairs_->on_answer(peers_[1], 0, probe.token), 0u) << "it came to another NIC";
  EXPECT_EQ(pairs_->on_answer(ipv6(9, 9), 1, probe.token), 0u) << "a stranger";
  EXPECT_EQ(taken(), Pairs(8, NicPair{0, 0}));
  EXPECT_EQ(pairs_->on_answer(peers_[1], 1, probe.token), 2u);
  EXPECT_EQ(pairs_->on_answer(peers_[1], 1, probe.token), 0u) << "once";
}

TEST_F(NicPairsTest, AProbeIsAnsweredWhereItCameFrom) {
  make(2, 2);
  turn();
  pairs_->on_probe(now_, peers_[1], 0, 77);
  pairs_->on_probe(now_, ipv6(9, 9), 0, 78);
  EXPECT_EQ(pairs_->next_timeout(), Nanos{});
  NicPairs::Message answer;
  ASSERT_TRUE(pairs_->poll_answer(answer));
  EXPECT_EQ(answer.pair, (NicPair{0, 1}));
  EXPECT_EQ(answer.token, 77u);
  EXPECT_FALSE(pairs_->poll_answer(answer)) << "strangers get none";
}

// Failures of NIC pairs do not raise the rate of probes to an address that never answered, so a
// peer cannot flood a third host by advertising its address.
TEST_F(NicPairsTest, AnAddressThatNeverAnsweredIsNotAskedMoreOftenWhenGroupsFail) {
  make(2, 3);
  dead_ = {{0, 1}, {1, 1}, {0, 2}, {1, 2}};
  uint32_t asked = 0;
  for (int i = 0; i < 300; ++i) {
    pairs_->set_works(now_, 0, i % 2 == 0);
    asked += run_for(millis(100))[2];
  }
  EXPECT_LE(asked, 12u) << "in 30 seconds";
}

TEST_F(NicPairsTest, AnAddressThatThePeerDidNotTellIsAddedWhereItWasMet) {
  own_ = {ipv6(1, 0), ipv6(1, 1)};
  const std::vector<std::byte> bytes = told({ipv6(2, 0), ipv6(2, 1)});
  pairs_ = std::make_unique<NicPairs>(
      now_, NicPairsOptions{.own = own_, .peer = bytes, .home_peer = ipv6(2, 7), .paths = 8});
  EXPECT_TRUE(pairs_->knows(ipv6(2, 7)));
  EXPECT_EQ(pairs_->peer(pairs_->pair_of(0).peer_nic).host, ipv6(2, 7).host);
}

}  // namespace
}  // namespace heddle::transport
