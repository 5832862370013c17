// What a watched job moved in an interval, and the peaks of its NICs.
#include "monitor/live_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using events::Direction;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kS = 1'000'000'000;
constexpr int64_t kBin = 100'000;
constexpr int64_t kFirst = 100 * kS;  // the first interval's beginning

class LiveTrafficTest : public testing::Test {
 protected:
  // Ranks on hosts h0, h1, …, each connected with each other; rank 0 and 1 are on h0.
  void start(uint32_t ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      traffic_.add_process(
          {{"host", "h" + std::to_string(rank / 2)}, {"rank", std::to_string(rank)}});
    }
    for (uint32_t own = 0; own < ranks; ++own) {
      for (uint32_t peer = 0; peer < ranks; ++peer) {
        if (own == peer) continue;
        add(own,
            events::ConnectionOpened{.connection = id(own, peer), .peer_connection = id(peer, own)},
            kS);
      }
    }
    cut(kFirst);
  }
  static uint32_t id(uint32_t own, uint32_t peer) { return 1'000 * (own + 1) + peer; }

  void add(uint32_t process, const events::AnyEvent& event, int64_t at_ns) {
    traffic_.add(process, event, 0, at_ns);
  }
  // Both ends record it.
  void message(uint32_t from, uint32_t to, uint64_t bytes, int64_t at_ns) {
    add(from,
        events::MessageCompleted{
            .connection = id(from, to), .bytes = bytes, .direction = Direction::kSent},
        at_ns);
    add(to,
        events::MessageCompleted{
            .connection = id(to, from), .bytes = bytes, .direction = Direction::kReceived},
        at_ns);
  }
  void bin(uint32_t process, int64_t begin_ns, uint32_t bytes, uint32_t connection = 1,
           Direction direction = Direction::kSent) {
    add(process,
        events::WireBin{.connection = connection,
                        .direction = direction,
                        .ago = nanos(kBin),
                        .span_ns = kBin,
                        .packets = 1,
                        .bytes = bytes},
        begin_ns + kBin);
  }
  void cut(int64_t now_ns) {
    traffic_.cut(now_ns, [this](size_t process) { return process == closed_; });
  }
  const TrafficInterval& interval(int64_t now_ns) {
    cut(now_ns);
    return *traffic_.latest();
  }

  LiveTraffic traffic_;
  size_t closed_ = SIZE_MAX;
};

TEST_F(LiveTrafficTest, AMessageIsCountedOnceInTheIntervalInWhichItArrives) {
  start(3);
  EXPECT_EQ(traffic_.latest(), nullptr) << "what was before the watch is of no interval";
  message(0, 1, 1'000, kFirst + 1);
  message(0, 1, 500, kFirst + 2);
  message(2, 0, 7, kFirst + 3);
  cut(kFirst + kS);
  EXPECT_EQ(traffic_.latest(), nullptr) << "it is not long enough";
  const TrafficInterval& first = interval(kFirst + 2 * kS);
  EXPECT_EQ(first.from_ns, kFirst);
  EXPECT_EQ(first.until_ns, kFirst + 2 * kS);
  EXPECT_TRUE(first.delivered);
  EXPECT_THAT(first.bytes,
              ElementsAre(ElementsAre(0, 1'500, 0), ElementsAre(0, 0, 0), ElementsAre(7, 0, 0)));
  message(1, 2, 9, kFirst + 3 * kS);
  EXPECT_THAT(interval(kFirst + 4 * kS).bytes,
              ElementsAre(ElementsAre(0, 0, 0), ElementsAre(0, 0, 9), ElementsAre(0, 0, 0)));
}

TEST_F(LiveTrafficTest, MessagesThroughSharedMemoryCountToo) {
  start(2);
  add(1,
      events::SharedMessageCompleted{
          .connection = id(1, 0), .bytes = 64, .direction = Direction::kReceived},
      kFirst + 1);
  EXPECT_EQ(interval(kFirst + 2 * kS).bytes[0][1], 64u);
}

TEST_F(LiveTrafficTest, WithoutMessagesBytesOnTheWireAreShown) {
  start(2);
  bin(0, kFirst + kS, 900, id(0, 1));
  bin(1, kFirst + kS, 900, id(1, 0), Direction::kReceived);
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_FALSE(made.delivered);
  EXPECT_THAT(made.bytes, ElementsAre(ElementsAre(0, 900), ElementsAre(0, 0)));
}

TEST_F(LiveTrafficTest, BytesOfUnknownPeersAreCountedApart) {
  start(2);
  add(0, events::MessageCompleted{.connection = 77, .bytes = 40, .direction = Direction::kReceived},
      kFirst + 1);
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_EQ(made.unplaced_bytes, 40u);
  EXPECT_THAT(made.bytes, ElementsAre(ElementsAre(0, 0), ElementsAre(0, 0)));
}

TEST_F(LiveTrafficTest, WhatIsReadLateIsOfNoInterval) {
  start(2);
  message(0, 1, 1'000, kFirst - 5 * kS);
  bin(0, kFirst - 5 * kS, 900);
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_EQ(made.bytes[0][1], 0u);
  EXPECT_THAT(made.nics, IsEmpty());
}

TEST_F(LiveTrafficTest, TransfersOfNcclAreCountedByItsProxyAlone) {
  start(2);
  for (uint32_t rank : {0u, 1u}) {
    add(rank, events::CommunicatorMade{.communicator = 5, .rank = rank, .size = 2}, kFirst);
    add(rank,
        events::ProxyOp{.communicator = 5,
                        .rank = rank,
                        .peer = 1 - rank,
                        .direction = rank == 0 ? Direction::kSent : Direction::kReceived,
                        .bytes = 800},
        kFirst + 1);
  }
  message(0, 1, 800, kFirst + 1);
  EXPECT_THAT(interval(kFirst + 2 * kS).bytes, ElementsAre(ElementsAre(0, 800), ElementsAre(0, 0)));
}

TEST_F(LiveTrafficTest, ARankThatIsSilentHasARowAndOneThatHasEndedHasNone) {
  start(3);
  message(0, 1, 10, kFirst + 1);
  closed_ = 2;
  EXPECT_EQ(interval(kFirst + 2 * kS).parties.size(), 2u);
  EXPECT_EQ(interval(kFirst + 4 * kS).parties.size(), 2u) << "0 and 1, which moved nothing";
}

TEST_F(LiveTrafficTest, ManyRanksAreShownByHost) {
  const auto ranks = static_cast<uint32_t>(params::kMostMatrixRows) + 2;
  start(ranks);
  message(0, 1, 10, kFirst + 1);
  message(0, 2, 5, kFirst + 1);
  message(1, 3, 6, kFirst + 1);
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_TRUE(made.by_host);
  ASSERT_EQ(made.parties.size(), ranks / 2);
  EXPECT_EQ(made.parties[1].name, "h1");
  EXPECT_EQ(made.bytes[0][0], 10u);
  EXPECT_EQ(made.bytes[0][1], 11u);
}

TEST_F(LiveTrafficTest, AJobOfTooManyProcessesIsLeftOutWithTheReason) {
  start(2);
  for (size_t i = 0; i < params::kMostTrafficProcesses; ++i) traffic_.add_process({});
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_THAT(made.left_out, HasSubstr("of a job of 258 processes"));
  EXPECT_THAT(made.parties, IsEmpty());
}

TEST_F(LiveTrafficTest, AShortPeakIsABurstThatTheMeanHides) {
  start(2);
  add(0,
      events::NicOpened{.nic = 0,
                        .address_low = 1,
                        .device = events::Text("eth0"),
                        .rate_bits_per_s = 1'000'000'000},
      kFirst - 60 * kS);
  for (int64_t i = 0; i < 20'000; ++i) {
    const bool in_burst = i >= 5'000 && i < 5'003;
    bin(0, kFirst + i * kBin, in_burst ? 10'100 : 100);  // else 8 Mbit/s
  }
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_EQ(made.bin_ns, kBin);
  ASSERT_EQ(made.nics.size(), 1u);
  EXPECT_EQ(made.nics[0].name, "eth0");
  EXPECT_EQ(made.nics[0].bits_per_s, 1'000'000'000u);
  const NicWay& sent = made.nics[0].of[0];
  EXPECT_EQ(sent.bytes, 20'000u * 100 + 3 * 10'000);
  EXPECT_DOUBLE_EQ(sent.peak_bits_per_s, 10'100 * 8 / 1e-4);
  EXPECT_EQ(sent.bursts, 1u);
  ASSERT_EQ(made.bursts.size(), 1u);
  EXPECT_EQ(made.bursts[0].begin_ns, kFirst + 5'000 * kBin);
  EXPECT_EQ(made.bursts[0].length_ns, 3 * kBin);
  ASSERT_EQ(sent.peaks_bits_per_s.size(), params::kPartsOfInterval);
  EXPECT_DOUBLE_EQ(sent.peaks_bits_per_s[15], sent.peak_bits_per_s) << "5,000 of 20,000 bins";
  EXPECT_DOUBLE_EQ(sent.peaks_bits_per_s[16], 100 * 8 / 1e-4);
  // The NIC is known in the next interval, too.
  bin(0, kFirst + 3 * kS, 100);
  EXPECT_EQ(interval(kFirst + 4 * kS).nics[0].name, "eth0");
}

}  // namespace
}  // namespace heddle::monitor
