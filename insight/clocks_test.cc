// Clock estimation with simulated offsets and drifts, and messages between the hosts: the true
// error must be within the reported one.
#include "insight/clocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>

#include "base/random.h"

namespace heddle::insight {
namespace {

using events::ConnectionOpened;
using events::Direction;
using events::MessageCompleted;

// A host's clock: its reading at a true time since the job's beginning.
using Hand = std::function<int64_t(int64_t)>;

Hand hand(int64_t offset_ns, double drift_ppm = 0) {
  return [offset_ns, drift_ppm](int64_t at) {
    return offset_ns + at + std::llround(static_cast<double>(at) * drift_ppm * 1e-6);
  };
}

class ClocksTest : public ::testing::Test {
 protected:
  void add_host(const Hand& hand, int64_t wall_offset_ns = 0, const std::string& clock = "",
                std::optional<int64_t> ahead_ns = std::nullopt) {
    const std::string number = std::to_string(hands_.size());
    Identity identity = {{"host", "h" + number}, {"rank", number}};
    if (!clock.empty()) identity.emplace_back("clock", clock);
    if (ahead_ns) identity.emplace_back("clock_ahead_ns", std::to_string(*ahead_ns));
    builder_.add_process(identity, wall_offset_ns);
    hands_.push_back(hand);
  }
  void connect(uint32_t a, uint32_t b) {
    builder_.add(a, ConnectionOpened{{}, 100 + b, 100 + a, 0, 0, 0, 1});
    builder_.add(b, ConnectionOpened{{}, 100 + a, 100 + b, 0, 0, 0, 1});
  }
  // A message that arrives and is acknowledged after a random transfer time each.
  void send(uint32_t from, uint32_t to, int64_t at) {
    const uint32_t sequence = sequence_++;
    const int64_t arrived = at + 5'000 + static_cast<int64_t>(random_.below(200'000));
    const int64_t acknowledged = arrived + 5'000 + static_cast<int64_t>(random_.below(200'000));
    builder_.add(to, MessageCompleted{
                         {hands_[to](arrived)}, 100 + from, 2, sequence, 9, Direction::kReceived});
    builder_.add(
        from,
        MessageCompleted{
            {hands_[from](acknowledged - late_ns_)}, 100 + to, 2, sequence, 9, Direction::kSent});
  }
  // The true difference between the clock of `host` and the first clock, after both were converted
  // to job time.
  int64_t wrong_by(const Clocks& clocks, uint32_t host, int64_t at) const {
    const Clock& first = clocks.clocks[clocks.of_process[0]];
    const Clock& other = clocks.clocks[clocks.of_process[host]];
    return std::abs(other.to_job(hands_[host](at)) - first.to_job(hands_[0](at)));
  }
  void expect_as_near_as_it_says(const Clocks& clocks, int64_t span, int64_t most_error) const {
    for (uint32_t host = 1; host < hands_.size(); ++host) {
      const Clock& clock = clocks.clocks[clocks.of_process[host]];
      EXPECT_EQ(clock.basis, ClockBasis::kMessages);
      EXPECT_LT(clock.error_ns, most_error) << host;
      for (const double part : {0.0, 0.3, 0.6, 1.0}) {
        const auto at = static_cast<int64_t>(part * static_cast<double>(span));
        EXPECT_LE(wrong_by(clocks, host, at), clock.error_ns) << host << " at " << part;
      }
    }
  }

  std::vector<Hand> hands_;
  ClockBuilder builder_;
  Random random_{11};
  uint32_t sequence_ = 0;
  int64_t late_ns_ = 0;  // age of an acknowledgement's time stamp
};

TEST_F(ClocksTest, MessagesInBothDirectionsYieldTheOffset) {
  add_host(hand(0), 7'000'000'000);
  add_host(hand(1'000'123'456'789), 7'003'000'000);  // its wall clock is wrong as well
  connect(0, 1);
  for (int64_t i = 0; i < 2000; ++i) send(i % 2, 1 - i % 2, i * 1'000'000);
  const Clocks clocks = builder_.finish();
  expect_as_near_as_it_says(clocks, 2'000'000'000, 40'000);
  EXPECT_EQ(clocks.clocks[0].basis, ClockBasis::kReference);
  EXPECT_EQ(clocks.clocks[0].to_job(5), 7'000'000'005);
  EXPECT_EQ(clocks.clocks[1].messages, 2000u);
  // At true time 0 it shows 1,000.12 s and its host claims 1,007.13 s, the reference 7 s.
  EXPECT_NEAR(static_cast<double>(clocks.clocks[1].wall_ahead_ns),
              1'000'123'456'789.0 + 7'003'000'000.0 - 7'000'000'000.0, 40'000);
}

TEST_F(ClocksTest, DriftIsReportedWithinItsError) {
  add_host(hand(0));
  add_host(hand(-55'000'000, 80));
  add_host(hand(9'000'000'000, -120));
  connect(0, 1);
  connect(1, 2);
  for (int64_t i = 0; i < 6000; ++i) {
    const auto low = static_cast<uint32_t>(i % 2);
    i % 4 < 2 ? send(low, low + 1, i * 10'000'000) : send(low + 1, low, i * 10'000'000);
  }
  const Clocks clocks = builder_.finish();
  expect_as_near_as_it_says(clocks, 60'000'000'000, 150'000);
  EXPECT_NEAR(clocks.clocks[1].drift_ppm(), 80, 3);
  EXPECT_NEAR(clocks.clocks[2].drift_ppm(), -120, 5);
}

TEST_F(ClocksTest, ARingOfOneWayMessagesBoundsAllClocks) {
  for (uint32_t i = 0; i < 4; ++i) add_host(hand(i * 77'000'000'000, i * 10));
  for (uint32_t i = 0; i < 4; ++i) connect(i, (i + 1) % 4);
  for (int64_t i = 0; i < 8000; ++i) {
    const auto from = static_cast<uint32_t>(i % 4);
    send(from, (from + 1) % 4, i * 500'000);
  }
  expect_as_near_as_it_says(builder_.finish(), 4'000'000'000, 500'000);
}

TEST_F(ClocksTest, AClockWithChangingDriftHasALargerError) {
  add_host(hand(0));
  // Slewed by 400 ppm in the second half.
  add_host([](int64_t at) { return at + std::max<int64_t>(0, at - 5'000'000'000) / 2500; });
  connect(0, 1);
  for (int64_t i = 0; i < 10'000; ++i) send(i % 2, 1 - i % 2, i * 1'000'000);
  const Clocks clocks = builder_.finish();
  expect_as_near_as_it_says(clocks, 10'000'000'000, 2'000'000);
  EXPECT_GT(clocks.clocks[1].error_ns, 300'000);
}

// Messages of any process of a host bound the clocks of all its namespaces: here one direction
// each.
TEST_F(ClocksTest, NamespacesOfOneHostHaveExactOffsets) {
  constexpr int64_t kAhead = 1'000'000'000'000;
  add_host(hand(0), 500, "boot-a time:[1]", 0);
  add_host(hand(kAhead), 500 - kAhead, "boot-a time:[2]", kAhead);
  add_host(hand(77'000'000'000, 20), 9, "boot-b time:[1]", 0);
  add_host(hand(77'000'000'000 - kAhead, 20), 9, "boot-b time:[2]", -kAhead);
  connect(0, 2);
  connect(1, 3);
  for (int64_t i = 0; i < 2'000; ++i) {
    i % 2 == 0 ? send(0, 2, i * 1'000'000) : send(3, 1, i * 1'000'000);
  }
  const Clocks clocks = builder_.finish();
  ASSERT_EQ(clocks.clocks.size(), 4u);
  EXPECT_EQ(clocks.of_process, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(clocks.clocks[0].basis, ClockBasis::kReference);
  EXPECT_EQ(clocks.clocks[0].to_job(3), 503);
  EXPECT_EQ(clocks.clocks[1].basis, ClockBasis::kSameHost);
  EXPECT_EQ(clocks.clocks[1].error_ns, 0);
  EXPECT_EQ(clocks.clocks[1].to_job(kAhead + 3), 503);
  for (const uint32_t host : {2, 3}) {
    EXPECT_EQ(clocks.clocks[host].basis, ClockBasis::kMessages);
    EXPECT_LT(clocks.clocks[host].error_ns, 60'000);
    EXPECT_LE(wrong_by(clocks, host, 1'000'000'000), clocks.clocks[host].error_ns);
  }
}

TEST_F(ClocksTest, InvalidNamespaceOffsetsAreIgnored) {
  const auto add = [this](const std::string& ahead) {
    return builder_.add_process({{"clock", "boot-a time:[1]"}, {"clock_ahead_ns", ahead}}, 0);
  };
  for (const char* ahead : {"", "1 s", "9999999999999999999999", "0x5"}) add(ahead);
  EXPECT_EQ(builder_.finish().clocks.size(), 1u);
  add("9223372036854775807");
  add("-9223372036854775808");
  EXPECT_EQ(builder_.finish().clocks.size(),
            3u);  // the first two share a clock with an unknown offset
}

TEST_F(ClocksTest, WithoutMessagesTheWallClockIsUsed) {
  add_host(hand(0), 10);
  add_host(hand(5), 20);
  connect(0, 1);
  Clocks clocks = builder_.finish();
  EXPECT_EQ(clocks.clocks[1].basis, ClockBasis::kWallClock);
  EXPECT_EQ(clocks.clocks[1].error_ns, -1);
  EXPECT_EQ(clocks.clocks[1].to_job(100), 120);
  // Messages in one direction give a bound on one side only.
  for (int64_t i = 0; i < 100; ++i) send(0, 1, i);
  EXPECT_EQ(builder_.finish().clocks[1].basis, ClockBasis::kWallClock);
}

TEST_F(ClocksTest, AFewOutdatedTimeStampsDoNotChangeTheEstimate) {
  add_host(hand(0));
  add_host(hand(77'000'000'000, 20));
  connect(0, 1);
  for (int64_t i = 0; i < 4000; ++i) {
    // Sometimes the sender's loop is descheduled between reading the clock and receiving the
    // acknowledgement.
    late_ns_ = i % 997 == 500 ? 8'000'000 : 0;
    send(i % 2, 1 - i % 2, i * 1'000'000);
  }
  expect_as_near_as_it_says(builder_.finish(), 4'000'000'000, 100'000);
}

TEST_F(ClocksTest, HostsNotConnectedToTheFirstDoNotChangeItsEstimate) {
  for (uint32_t i = 0; i < 4; ++i) add_host(hand(i * 1'000'000'000'000), i);
  connect(0, 1);
  connect(2, 3);
  for (int64_t i = 0; i < 2000; ++i) {
    const auto low = static_cast<uint32_t>(i % 2);
    send(low, 1 - low, i * 1'000'000);
    send(2 + low, 3 - low, i * 1'000'000);
  }
  const Clocks clocks = builder_.finish();
  EXPECT_EQ(clocks.clocks[1].basis, ClockBasis::kMessages);
  EXPECT_LT(clocks.clocks[1].error_ns, 40'000);
  EXPECT_EQ(clocks.clocks[2].basis, ClockBasis::kWallClock);
  EXPECT_EQ(clocks.clocks[3].basis, ClockBasis::kWallClock);
}

TEST_F(ClocksTest, ProcessesThatShareAClockNeedNoMessages) {
  add_host(hand(0), 10, "boot 1");
  add_host(hand(0), 11, "boot 1");
  EXPECT_FALSE(builder_.needs_events());
  const Clocks clocks = builder_.finish();
  EXPECT_EQ(clocks.of_process, (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(clocks.clocks[0].to_job(0), 10);
}

TEST_F(ClocksTest, TheLowestRankIsTheReference) {
  builder_.add_process({{"host", "b"}, {"rank", "1"}}, 5);
  builder_.add_process({{"host", "a"}, {"rank", "0"}}, 6);
  builder_.add_process({{"host", "a"}, {"rank", "7"}, {"clock", "container"}}, 6);
  const Clocks clocks = builder_.finish();
  EXPECT_EQ(clocks.of_process, (std::vector<uint32_t>{1, 0, 2}));
  EXPECT_EQ(clocks.clocks[0].name, "a");
  EXPECT_EQ(clocks.clocks[2].name, "a, clock 2");
}

TEST_F(ClocksTest, BothSidesSampleTheSameMessages) {
  add_host(hand(0));
  add_host(hand(3'000'000));
  connect(0, 1);
  for (int64_t i = 0; i < 100'000; ++i) send(i % 2, 1 - i % 2, i * 100'000);
  const Clocks clocks = builder_.finish();
  EXPECT_GT(clocks.clocks[1].messages, 1000u);
  EXPECT_LT(clocks.clocks[1].messages, 10'000u);
  expect_as_near_as_it_says(clocks, 10'000'000'000, 40'000);
}

}  // namespace
}  // namespace heddle::insight
