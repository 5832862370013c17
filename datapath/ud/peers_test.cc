// Which way a peer's datagrams take, by what it answers.
#include "datapath/ud/peers.h"

#include <gtest/gtest.h>

#include "datapath/ud/params.h"

namespace heddle::datapath {
namespace {

using transport::Address;
using Ask = UdPeers::Ask;

Address peer_at(uint8_t host, uint16_t port = 1'000) {
  Address address;
  address.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
  address.port = port;
  return address;
}

const Address kAddress = peer_at(9);
const UdPeer kPeer{kAddress};

class UdPeersTest : public testing::Test {
 public:
  UdPeers::Sending send() { return peers.on_send(now, kPeer, true); }
  // Asks if that is due; returns how.
  Ask turn() {
    peers.on_look(now);
    const Ask due = send().ask;
    if (due != Ask::kNone) peers.on_asked(now, kPeer, ++nonce);
    return due;
  }
  bool answer() { return answer(kAddress, nonce); }
  bool answer(const Address& from, uint64_t to) {
    return peers.on_answer(now, from,
                           {.kind = GreetingKind::kAnswer,
                            .mtu = 4,
                            .from = engine,
                            .engines = engines,
                            .port = from.port,
                            .queue_pair = pair,
                            .key = 77,
                            .nonce = to});
  }
  void prove() {
    EXPECT_EQ(turn(), Ask::kByUdp);
    EXPECT_TRUE(answer());
    EXPECT_EQ(turn(), Ask::kByPair);
    EXPECT_TRUE(answer());
    EXPECT_TRUE(send().by_pair);
  }

  UdPeers peers;
  Nanos now = seconds(100);
  uint64_t nonce = 0;
  uint32_t pair = 5;
  uint8_t engine = 0;  // that answers
  uint8_t engines = 1;
};

TEST_F(UdPeersTest, OnlyOneThatAnswersByQueuePairGetsDatagramsThere) {
  EXPECT_EQ(turn(), Ask::kByUdp);
  EXPECT_FALSE(send().by_pair);
  EXPECT_TRUE(answer());
  EXPECT_FALSE(send().by_pair);
  EXPECT_EQ(turn(), Ask::kByPair);
  EXPECT_FALSE(send().by_pair);
  EXPECT_TRUE(answer());
  const UdPeers::Sending sending = send();
  EXPECT_TRUE(sending.by_pair);
  EXPECT_EQ(sending.ask, Ask::kNone);
  EXPECT_EQ(sending.to->queue_pair, 5u);
  EXPECT_EQ(sending.to->key, 77u);
  EXPECT_EQ(sending.to->mtu_bytes, 2048u);
}

TEST_F(UdPeersTest, AnswersThatWereNotAskedForChangeNothing) {
  EXPECT_FALSE(answer());
  EXPECT_EQ(peers.size(), 0u) << "a stranger adds no peer";
  EXPECT_EQ(turn(), Ask::kByUdp);
  EXPECT_FALSE(answer(kAddress, nonce + 1));
  EXPECT_FALSE(answer(peer_at(8), nonce)) << "another host";
  EXPECT_FALSE(answer(peer_at(9, 1'001), nonce)) << "another port";
  EXPECT_TRUE(answer());
  EXPECT_FALSE(answer()) << "the second of one ask";
  EXPECT_FALSE(answer(kAddress, 0));
}

TEST_F(UdPeersTest, OneWithoutUdIsAskedLessAndLess) {
  int asks = 0;
  for (int millisecond = 0; millisecond < 60'000; ++millisecond, now += millis(1)) {
    if (turn() != Ask::kNone) ++asks;
    EXPECT_FALSE(send().by_pair);
  }
  EXPECT_GT(asks, 15);
  EXPECT_LT(asks, 25);
}

TEST_F(UdPeersTest, OneThatFallsSilentGetsItsDatagramsByUdpWithinTwoSeconds) {
  prove();
  Nanos silent = now;
  for (; send().by_pair && silent < now + seconds(10); now += millis(1)) turn();
  EXPECT_LT(now - silent, seconds(2));
  EXPECT_GT(now - silent, millis(500)) << "one lost ask is no silence";
  now += seconds(1);
  prove();
}

// A peer whose queue pairs cannot be reached is asked less and less as well.
TEST_F(UdPeersTest, AsksByQueuePairThatStayUnansweredBecomeRare) {
  int asks = 0;
  for (int millisecond = 0; millisecond < 60'000; ++millisecond, now += millis(1)) {
    const Ask ask = turn();
    asks += ask == Ask::kNone ? 0 : 1;
    if (ask == Ask::kByUdp) {
      EXPECT_TRUE(answer());
    }
    EXPECT_FALSE(send().by_pair);
  }
  EXPECT_LT(asks, 80);
}

TEST_F(UdPeersTest, SilenceMeansNothingWhileNobodyLooks) {
  prove();
  for (int millisecond = 0; millisecond < 5'000; ++millisecond, now += millis(1)) {
    if (send().ask != Ask::kNone) peers.on_asked(now, kPeer, ++nonce);
    EXPECT_TRUE(send().by_pair);
  }
}

TEST_F(UdPeersTest, OneThatRestartedIsProvenAnew) {
  prove();
  now += ud_params::kProveEvery;
  EXPECT_EQ(turn(), Ask::kByPair);
  pair = 6;
  EXPECT_TRUE(answer());
  EXPECT_FALSE(send().by_pair);
  EXPECT_EQ(turn(), Ask::kByPair);
  EXPECT_TRUE(answer());
  EXPECT_TRUE(send().by_pair);
  EXPECT_EQ(send().to->queue_pair, 6u);
}

TEST_F(UdPeersTest, OneWhoseQueuePairMovedIsAskedByUdpAtOnce) {
  prove();
  peers.on_moved(now, {peer_at(8)});
  EXPECT_TRUE(send().by_pair);
  peers.on_moved(now, kPeer);
  EXPECT_FALSE(send().by_pair);
  EXPECT_EQ(turn(), Ask::kByUdp);
  peers.on_moved(now, kPeer);
  EXPECT_EQ(turn(), Ask::kNone) << "who says so again makes no more asks";
}

TEST_F(UdPeersTest, AnAnswerToAStrangerAddsNoPeer) {
  const UdPeers::Sending sending = peers.on_send(now, kPeer, false);
  EXPECT_FALSE(sending.by_pair);
  EXPECT_EQ(sending.ask, Ask::kNone);
  EXPECT_EQ(peers.size(), 0u);
}

TEST_F(UdPeersTest, BeyondTheMostTheOneThatWasSentToLeastRecentlyGoes) {
  prove();
  for (uint32_t i = 0; i < ud_params::kMostPeers; ++i) {
    now += micros(1);
    peers.on_send(now, {peer_at(10, static_cast<uint16_t>(i + 1))}, true);
  }
  EXPECT_EQ(peers.size(), ud_params::kMostPeers);
  EXPECT_FALSE(send().by_pair);
}

// --- of an endpoint with several engines, each is asked for itself ---

TEST_F(UdPeersTest, AnAnswerNamesTheEnginesAndEachHasAQueuePairOfItsOwn) {
  engines = 3;
  EXPECT_EQ(peers.engines_of(kAddress), 1);
  prove();
  EXPECT_EQ(peers.engines_of(kAddress), 3);
  EXPECT_EQ(peers.engines_of(peer_at(8)), 1);
  const UdPeer second{kAddress, 1};
  EXPECT_FALSE(peers.on_send(now, second, true).by_pair);
  peers.on_asked(now, second, ++nonce);
  engine = 1;
  pair = 8;
  EXPECT_TRUE(answer());
  peers.on_asked(now, second, ++nonce);
  EXPECT_TRUE(answer());
  EXPECT_EQ(peers.on_send(now, second, true).to->queue_pair, 8u);
  EXPECT_EQ(send().to->queue_pair, 5u);
  peers.on_moved(now, second);
  EXPECT_FALSE(peers.on_send(now, second, true).by_pair);
  EXPECT_TRUE(send().by_pair);
}

TEST_F(UdPeersTest, AnEndpointThatComesBackWithFewerEnginesSaysSo) {
  engines = 3;
  prove();
  const UdPeer third{kAddress, 2};
  peers.on_send(now, third, true);
  peers.on_asked(now, third, ++nonce);
  engines = 1;  // engine 0 answers: there is no other
  EXPECT_FALSE(answer());
  EXPECT_EQ(peers.engines_of(kAddress), 1);
  EXPECT_FALSE(peers.on_send(now, third, true).by_pair);
}

}  // namespace
}  // namespace heddle::datapath
