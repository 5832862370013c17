// Load over time and its microbursts, from synthetic events.
#include "insight/load.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace heddle::insight {
namespace {

using events::Direction;
using events::WireBin;

constexpr int64_t kBin = 100'000;

class LoadTest : public ::testing::Test {
 protected:
  explicit LoadTest(const LoadOptions& options = {}) : builder_(options) {
    builder_.add_process({{"host", "h0"}, {"rank", "0"}});
    builder_.add_process({{"host", "h0"}, {"rank", "1"}});
    builder_.add_process({{"host", "h1"}, {"rank", "2"}});
  }

  // Recorded `late_ns` after the bin's end.
  void bin(uint32_t process, int64_t number, uint32_t bytes, Direction direction = Direction::kSent,
           int64_t late_ns = 0) {
    WireBin event;
    event.direction = direction;
    event.ago = nanos(kBin + late_ns);
    event.span_ns = kBin;
    event.packets = 1;
    event.bytes = bytes;
    builder_.add(process, event, 0, (number + 1) * kBin + late_ns);
  }
  // The same number of bytes in every bin from `from` to `to`.
  void steady(uint32_t process, int64_t from, int64_t to, uint32_t bytes) {
    for (int64_t number = from; number < to; ++number) bin(process, number, bytes);
  }
  static uint64_t sum_of(const std::vector<LoadColumn>& columns) {
    uint64_t sum = 0;
    for (const LoadColumn& column : columns) sum += column.bytes;
    return sum;
  }

  LoadBuilder builder_;
};

TEST_F(LoadTest, ProcessesOfAHostShareItsNic) {
  bin(0, 5, 100);
  bin(1, 5, 50);
  bin(2, 5, 7, Direction::kReceived);
  bin(0, 6, 1);
  const Load load = builder_.finish();
  ASSERT_EQ(load.nics.size(), 2u);
  EXPECT_EQ(load.column_ns, kBin);
  const NicLoad& nic = load.nics[0];
  EXPECT_EQ(nic.host, "h0");
  ASSERT_EQ(nic.columns[0].size(), 2u);
  EXPECT_EQ(nic.columns[0][0].index, 5);
  EXPECT_EQ(nic.columns[0][0].bytes, 150u);
  EXPECT_EQ(nic.peak[0], 150u);
  EXPECT_EQ(nic.bytes[0], 151u);
  EXPECT_TRUE(nic.columns[1].empty());
  EXPECT_EQ(load.nics[1].columns[1][0].bytes, 7u);
}

TEST_F(LoadTest, NicsAreDistinguishedByTheirAddresses) {
  const auto opened = [this](uint32_t process, uint8_t number, uint64_t low, const char* device) {
    builder_.add(process,
                 events::NicOpened{{}, number, 0, low, events::Text(device), 1'000'000'000}, 0, 0);
  };
  opened(0, 0, 0xffff0a000001, "eth0");
  opened(0, 1, 0xffff0a000101, "");
  opened(1, 0, 0xffff0a000001, "eth0");
  bin(0, 1, 10);
  bin(1, 1, 20);
  WireBin event{.time = {}, .connection = 1, .path = 3, .nic = 1, .span_ns = kBin, .bytes = 5};
  builder_.add(0, event, 0, kBin);
  const Load load = builder_.finish();
  ASSERT_EQ(load.nics.size(), 2u);
  EXPECT_EQ(load.nics[0].name, "10.0.1.1");
  EXPECT_EQ(load.nics[0].bytes[0], 5u);
  EXPECT_EQ(load.nics[1].name, "eth0");
  EXPECT_EQ(load.nics[1].rate.count, 1'000'000'000u);
  EXPECT_EQ(load.nics[1].bytes[0], 30u);
}

TEST_F(LoadTest, AMicroburstIsReportedWithTheCallsInProgress) {
  steady(0, 0, 400, 1000);
  builder_.add(0, events::Mark{{}, events::Text("step"), 7}, 0, 380 * kBin);
  builder_.add(0, events::CallMade{.communicator = 1, .call = 1}, 0, 399 * kBin);
  builder_.add(1, events::CallMade{.communicator = 1, .call = 1}, 0, 399 * kBin);
  steady(0, 400, 403, 90'000);
  bin(0, 403, 60'000);
  builder_.add(0, events::CallEnded{{}, 1, 1, true}, 0, 404 * kBin);
  steady(0, 404, 800, 1000);
  steady(0, 30'000, 30'001, 1000);  // much later, so that earlier bins are settled before the end
  const Load load = builder_.finish();
  ASSERT_EQ(load.bursts.size(), 1u);
  const Microburst& burst = load.bursts[0];
  EXPECT_EQ(burst.begin_ns, 400 * kBin);
  EXPECT_EQ(burst.length_ns, 4 * kBin);
  EXPECT_EQ(burst.bytes, 330'000u);
  EXPECT_EQ(burst.peak, 90'000u);
  EXPECT_NEAR(burst.times_mean, 90'000.0 / ((330'000 + 97 * 1000) / 101.0), 0.01);
  EXPECT_EQ(burst.operations, "allreduce x2");
  EXPECT_EQ(burst.phase, "step 7");
  EXPECT_EQ(load.calls.size(), 1u);
  EXPECT_EQ(load.calls[0].end_ns, 404 * kBin);
  EXPECT_EQ(load.calls_of, "rank 0");
}

// It was two where the bins of its beginning were settled before those of its end.
TEST_F(LoadTest, AMicroburstAcrossTheEndOfWhatIsSettledIsOne) {
  for (int64_t begin = 4'990; begin < 5'010; ++begin) {
    LoadBuilder builder({});
    builder.add_process({{"host", "h0"}, {"rank", "0"}});
    for (int64_t number = 0; number < 20'000; ++number) {
      const bool in_burst = number >= begin && number < begin + 4;
      const WireBin event{.direction = Direction::kSent,
                          .ago = nanos(kBin),
                          .span_ns = kBin,
                          .packets = 1,
                          .bytes = in_burst ? 90'000U : 1'000U};
      builder.add(0, event, 0, (number + 1) * kBin);
    }
    const Load load = builder.finish();
    ASSERT_EQ(load.bursts.size(), 1u) << begin;
    EXPECT_EQ(load.bursts[0].begin_ns, begin * kBin);
    EXPECT_EQ(load.bursts[0].length_ns, 4 * kBin);
    EXPECT_EQ(load.bursts[0].bytes, 360'000u);
  }
}

TEST_F(LoadTest, SteadyLoadAndSinglePacketsAreNoMicrobursts) {
  steady(0, 0, 3000, 90'000);
  for (int64_t number = 4000; number < 9000; number += 200) bin(0, number, 200);
  bin(0, 12'000, 80, Direction::kReceived);
  EXPECT_TRUE(builder_.finish().bursts.empty());
}

TEST_F(LoadTest, LateBinsAreCounted) {
  bin(0, 10, 1000);
  for (int64_t number = 20; number < 60'000; number += 100) bin(1, number, 10);
  bin(0, 11, 500, Direction::kSent, 5'900'000'000);  // settled long before
  const Load load = builder_.finish();
  const auto& columns = load.nics[0].columns[0];
  EXPECT_EQ(columns[0].bytes, 1000u);
  EXPECT_EQ(columns[1].index, 11);
  EXPECT_EQ(columns[1].bytes, 500u);
  EXPECT_EQ(sum_of(columns), load.nics[0].bytes[0]);
}

class SpansOfLoad : public LoadTest {
 protected:
  SpansOfLoad() : LoadTest({.from_ns = 100 * kBin, .to_ns = 200 * kBin}) {}
};

TEST_F(SpansOfLoad, CallsAndPhasesThatOverlapTheSpanAreIncluded) {
  const auto mark = [this](int64_t number, uint32_t step) {
    builder_.add(0, events::Mark{{}, events::Text("step"), step}, 0, number * kBin);
  };
  const auto call = [this](uint32_t number, int64_t from, int64_t to) {
    builder_.add(0, events::CallMade{.communicator = 1, .call = number}, 0, from * kBin);
    builder_.add(0, events::CallEnded{{}, 1, number, true}, 0, to * kBin);
  };
  mark(10, 1);
  call(1, 20, 30);
  mark(50, 2);
  steady(0, 60, 150, 1000);
  call(2, 90, 110);
  call(3, 190, 210);
  mark(205, 3);
  call(4, 220, 230);
  const Load load = builder_.finish();
  EXPECT_EQ(sum_of(load.nics[0].columns[0]), 50'000u);
  ASSERT_EQ(load.phases.size(), 1u);
  EXPECT_EQ(load.phases[0].begin_ns, 50 * kBin);
  EXPECT_EQ(load.phases[0].end_ns, 205 * kBin);
  ASSERT_EQ(load.calls.size(), 2u);
  EXPECT_EQ(load.calls[0].begin_ns, 90 * kBin);
  EXPECT_EQ(load.calls[1].end_ns, 210 * kBin);
}

class BoundedLoad : public LoadTest {
 protected:
  BoundedLoad() : LoadTest({.most_columns = 1000}) {}
};

TEST_F(BoundedLoad, ALongJobGetsWiderColumnsAndLosesNoBytes) {
  Random random(3);
  uint64_t sent = 0;
  uint64_t most = 0;
  for (int64_t number = 0; number < 100'000; ++number) {
    const auto bytes = static_cast<uint32_t>(1 + random.below(50'000));
    bin(0, number, bytes);
    bin(2, number, 1, Direction::kReceived);
    sent += bytes;
    most = std::max<uint64_t>(most, bytes);
  }
  const Load load = builder_.finish();
  size_t columns = 0;
  uint64_t peak = 0;
  for (const NicLoad& nic : load.nics) {
    for (const auto& way : nic.columns) columns += way.size();
  }
  for (const LoadColumn& column : load.nics[0].columns[0]) peak = std::max(peak, column.peak);
  EXPECT_LE(columns, 1000u);
  EXPECT_GE(columns, 400u);
  EXPECT_EQ(sum_of(load.nics[0].columns[0]), sent);
  EXPECT_EQ(peak, most);
  EXPECT_EQ(load.column_ns % kBin, 0);
}

class PartOfLoad : public LoadTest {
 protected:
  PartOfLoad() : LoadTest({.from_ns = 10 * kBin, .to_ns = 20 * kBin - 1}) {}
};

TEST_F(PartOfLoad, CoversOnlyTheRequestedTimes) {
  steady(0, 0, 100, 10);
  EXPECT_EQ(builder_.finish().nics[0].bytes[0], 100u);
}

TEST_F(LoadTest, ABinOfOneSecondIsSpreadOverShorterBins) {
  bin(0, 0, 10);
  WireBin event{.time = {}, .span_ns = 1'000'000'000, .bytes = 100'003};
  event.ago = seconds(1);
  builder_.add(2, event, 0, 2'000'000'000);
  const Load load = builder_.finish();
  EXPECT_EQ(load.nics[1].bytes[0], 100'003u);
  EXPECT_EQ(load.nics[1].columns[0].size(), 10'000u);
  EXPECT_LE(load.nics[1].peak[0], 11u);
}

TEST(LoadOfDamage, ArbitraryTimesAreAccepted) {
  LoadBuilder builder(LoadOptions{});
  builder.add_process({});
  for (const int64_t at : {int64_t{0}, INT64_MAX, INT64_MIN, int64_t{5}}) {
    for (const int64_t ago : {int64_t{0}, INT64_MAX, INT64_MIN}) {
      for (const uint32_t span : {0u, 1u, 100'000u, UINT32_MAX}) {
        WireBin event{.time = {}, .direction = static_cast<Direction>(9), .span_ns = span};
        event.ago = {ago};
        event.bytes = UINT32_MAX;
        builder.add(0, event, 3, at);
      }
    }
  }
  const Load load = builder.finish();
  ASSERT_EQ(load.nics.size(), 1u);
  for (size_t way = 0; way < 2; ++way) {
    uint64_t sum = 0;
    for (const LoadColumn& column : load.nics[0].columns[way]) sum += column.bytes;
    EXPECT_EQ(sum, load.nics[0].bytes[way]);
  }
}

}  // namespace
}  // namespace heddle::insight
