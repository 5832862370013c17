// What a watched job moved in an interval, and the peaks of its NICs.
#include "monitor/live_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
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

TEST_F(LiveTrafficTest, EventsReadLateCountInNoInterval) {
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
  EXPECT_EQ(sent.bytes, 19'950u * 100 + 3 * 10'000) << "the last 5 ms are of the next interval";
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
  const TrafficInterval& next = interval(kFirst + 4 * kS);
  EXPECT_EQ(next.nics[0].name, "eth0");
  EXPECT_EQ(next.nics[0].of[0].bytes, 51u * 100);
}

// The first machine had no clock: the time of a part overflowed, and was written before its array.
TEST_F(LiveTrafficTest, AnIntervalOfYearsHasItsPeaks) {
  start(2);
  bin(0, kFirst + kS, 100);
  const int64_t years = 1'800LL * 86'400 * kS;
  bin(0, kFirst + years, 100);  // of a time far ahead: of no interval
  const TrafficInterval& made = interval(kFirst + years);
  ASSERT_EQ(made.nics.size(), 1u);
  EXPECT_DOUBLE_EQ(made.nics[0].of[0].peaks_bits_per_s[0], 100 * 8 / 1e-4);
  bin(0, kFirst + years + kS, 300);
  EXPECT_EQ(interval(kFirst + years + 2 * kS).nics[0].of[0].bytes, 300u);
}

// Each interval compared with its own largest bin where the NIC's rate is not known.
TEST_F(LiveTrafficTest, ProbesOfAnIdleJobAreNoMicrobursts) {
  start(2);
  for (int64_t i = 0; i < 1'000; ++i) bin(0, kFirst + i * kBin, 100'000);
  EXPECT_EQ(interval(kFirst + 2 * kS).nics[0].of[0].peak_bits_per_s, 100'000 * 8 / 1e-4);
  for (int64_t i = 1; i < 5; ++i) bin(0, kFirst + 2 * kS + i * kS / 4, 100);
  const TrafficInterval& idle = interval(kFirst + 4 * kS);
  EXPECT_EQ(idle.nics[0].of[0].bytes, 400u);
  EXPECT_EQ(idle.bursts_in_all, 0u);
}

TEST_F(LiveTrafficTest, ABinAtTheEdgeOfAnIntervalIsComparedWithThoseOfBothIntervals) {
  start(2);
  bin(0, kFirst - kBin, 100);
  for (int64_t i = 0; i < 40'000; ++i) {
    const bool high = i == 19'999 || i == 20'000;  // 2.5 times the mean
    bin(0, kFirst + i * kBin, high ? 2'500 : 1'000);
    if (i != 19'999) continue;
    EXPECT_EQ(interval(kFirst + 2 * kS).bursts_in_all, 0u);
  }
  EXPECT_EQ(interval(kFirst + 4 * kS).bursts_in_all, 0u);
}

TEST_F(LiveTrafficTest, ABurstHasTheCallsAndThePhaseThatBeganInEarlierIntervals) {
  start(2);
  add(0, events::Mark{.name = events::Text("step"), .step = 7}, kFirst - kS);
  add(0, events::CallMade{.communicator = 5, .call = 1, .operation = events::Operation::kAllreduce},
      kFirst + kS);
  bin(0, kFirst + kS, 1'000);
  cut(kFirst + 2 * kS);
  bin(0, kFirst + 3 * kS, 10'000);
  const TrafficInterval& made = interval(kFirst + 4 * kS);
  ASSERT_EQ(made.bursts.size(), 1u);
  EXPECT_EQ(made.bursts[0].phase, "step 7");
  EXPECT_EQ(made.bursts[0].operations, "allreduce");
}

TEST_F(LiveTrafficTest, OfTooManyHostsThoseWithTheLeastTrafficShareARow) {
  const auto hosts = static_cast<uint32_t>(params::kMostMatrixRows) + 6;
  start(2 * hosts);
  for (uint32_t host = 6; host < hosts; ++host) message(2 * host, 2 * host + 1, 100, kFirst + 1);
  message(0, 2, 10, kFirst + 1);
  message(0, 12, 3, kFirst + 1);
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  ASSERT_EQ(made.parties.size(), params::kMostMatrixRows);
  EXPECT_EQ(made.parties.back().name, "7 other hosts") << "0 to 5, and one of those with 100 bytes";
  uint64_t all = 0;
  for (const auto& row : made.bytes) all = std::accumulate(row.begin(), row.end(), all);
  EXPECT_EQ(all, (hosts - 6) * 100 + 13);
  EXPECT_EQ(made.bytes.back().back(), 110u);
}

// Their places were kept, so after 4,096 connections of a process all new ones had no end.
TEST_F(LiveTrafficTest, ClosedConnectionsLeaveTheirPlaces) {
  start(2);
  const auto opened = [this](uint32_t process, uint32_t own, uint32_t peer) {
    add(process, events::ConnectionOpened{.connection = own, .peer_connection = peer}, kFirst);
  };
  for (uint32_t i = 0; i < 2 * params::kMostConnections; ++i) {
    opened(0, 10'000 + i, 50'000 + i);
    add(0, events::ConnectionClosed{.connection = 10'000 + i}, kFirst);
  }
  opened(0, 9'000, 9'001);
  opened(1, 9'001, 9'000);
  add(1,
      events::MessageCompleted{.connection = 9'001, .bytes = 40, .direction = Direction::kReceived},
      kFirst + 1);
  // What a connection moved before it closed is of the interval.
  add(1, events::ConnectionClosed{.connection = 9'001}, kFirst + 2);
  EXPECT_EQ(interval(kFirst + 2 * kS).bytes[0][1], 40u);
  EXPECT_EQ(traffic_.latest()->unplaced_bytes, 0u);
}

TEST_F(LiveTrafficTest, WhereTheReceiverRecordsNoMessagesTheSenderCounts) {
  start(4);
  message(0, 1, 7, kFirst + 1);
  add(0,
      events::MessageCompleted{.connection = id(0, 2), .bytes = 30, .direction = Direction::kSent},
      kFirst + 1);
  bin(2, kFirst + 1, 500, id(2, 3));
  bin(2, kFirst + 1, 60, id(2, 0));  // 0 records messages, and got none
  const TrafficInterval& made = interval(kFirst + 2 * kS);
  EXPECT_EQ(made.bytes[0][1], 7u);
  EXPECT_EQ(made.bytes[0][2], 30u);
  EXPECT_EQ(made.bytes[2][0], 0u);
  EXPECT_EQ(made.unplaced_bytes, 500u) << "2 and 3 record bytes on the wire alone";
}

}  // namespace
}  // namespace heddle::monitor
