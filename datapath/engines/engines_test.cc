// Datapaths of several engines: each datagram reaches the engine that it names, as the kernel
// chooses and where another engine's socket received it.
#include "datapath/engines.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <thread>

#include "datapath/engines/engine_datapath.h"
#include "datapath/engines/params.h"
#include "datapath/udp.h"
#include "datapath/udp/udp_datapath.h"

namespace heddle::datapath {
namespace {

using transport::PayloadAt;
using transport::RxRun;

constexpr uint32_t kHeader = transport::kDataHeaderBytes;
constexpr std::byte kData{0x28};
constexpr std::byte kReset{0x26};

// A datapath whose input the test writes.
class Written final : public Datapath {
 public:
  const Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return {}; }
  Nanos now() override { return {}; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override { return bursts.size(); }
  size_t receive(RxBatch& batch, const transport::Prediction*) override {
    EXPECT_FALSE(lent);
    batch.count = 0;
    while (!input.empty() && batch.count < batch.runs.size()) {
      batch.runs[batch.count++] = input.front();
      input.pop_front();
    }
    lent = batch.count > 0;
    return batch.count;
  }
  void release(RxBatch& batch) override {
    EXPECT_TRUE(lent);
    lent = false;
    batch.count = 0;
  }
  void place(std::span<const transport::Placement>) override {}
  void wait(Nanos) override {}
  void wake() override { ++wakes; }
  Result<transport::RegionId> register_memory(void*, size_t) override { return regions++; }
  void unregister_memory(transport::RegionId) override {}
  bool poll_error(transport::NetworkError&) override { return false; }
  const DatapathStatistics& statistics() const override { return statistics_; }

  std::deque<RxRun> input;
  bool lent = false;
  std::atomic<int> wakes = 0;
  transport::RegionId regions = 0;

 private:
  Capabilities capabilities_;
  DatapathStatistics statistics_;
};

class EnginesTest : public testing::Test {
 protected:
  explicit EnginesTest(size_t count = 2) {
    std::vector<std::unique_ptr<Datapath>> inner;
    for (size_t i = 0; i < count; ++i) {
      auto made = std::make_unique<Written>();
      written_.push_back(made.get());
      inner.push_back(std::move(made));
    }
    engines_ = with_engines(std::move(inner));
  }

  // A datagram for an engine; its bytes behind the header are `tag`.
  static std::vector<std::byte> datagram(uint8_t engine, uint8_t tag, size_t payload = 100) {
    std::vector<std::byte> made(kHeader + payload, std::byte{tag});
    made[0] = kData;
    made[transport::kEngineIdAt] = std::byte{engine};
    return made;
  }

  // Adds a run of datagrams to the input of engine `at`. All but the last are of one size.
  void arrive(size_t at, const std::vector<std::vector<std::byte>>& datagrams) {
    frames_.emplace_back();
    for (const auto& each : datagrams) {
      frames_.back().insert(frames_.back().end(), each.begin(), each.end());
    }
    RxRun run;
    run.from.port = 77;
    run.ecn = transport::Ecn::kEct0;
    run.nic = 1;
    run.segments = static_cast<uint32_t>(datagrams.size());
    run.segment_bytes = static_cast<uint32_t>(datagrams.front().size());
    run.last_segment_bytes = static_cast<uint32_t>(datagrams.back().size());
    run.frame = frames_.back().data();
    written_[at]->input.push_back(run);
  }

  // The tag and the size of each datagram that engine `at` receives at once.
  std::vector<std::pair<int, size_t>> take(size_t at) {
    RxBatch batch;
    std::vector<std::pair<int, size_t>> taken;
    if (engines_[at]->receive(batch, nullptr) == 0) return taken;
    for (size_t i = 0; i < batch.count; ++i) {
      const RxRun& run = batch.runs[i];
      EXPECT_EQ(run.from.port, 77);
      EXPECT_EQ(run.ecn, transport::Ecn::kEct0);
      EXPECT_EQ(run.nic, 1);
      for (uint32_t s = 0; s < run.segments; ++s) {
        const size_t bytes = s + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
        const bool whole = run.payload_at == PayloadAt::kFrame;
        const std::byte* const start = run.frame + s * (whole ? run.step() : run.header_bytes);
        taken.emplace_back(std::to_integer<int>(start[8]), bytes);
      }
    }
    engines_[at]->release(batch);
    return taken;
  }

  using Taken = std::vector<std::pair<int, size_t>>;
  std::deque<std::vector<std::byte>> frames_;
  std::vector<Written*> written_;
  std::vector<std::unique_ptr<Datapath>> engines_;
};

constexpr size_t kWhole = kHeader + 100;

TEST_F(EnginesTest, DatagramsForTheReceivingEnginePassUnchanged) {
  arrive(0, {datagram(0, 1), datagram(0, 2), datagram(0, 3, 7)});
  EXPECT_EQ(take(0), (Taken{{1, kWhole}, {2, kWhole}, {3, kHeader + 7}}));
  EXPECT_FALSE(written_[0]->lent);
  EXPECT_EQ(engines_[0]->statistics().handed_over, 0U);
}

TEST_F(EnginesTest, ARunOfAnotherEngineIsHandedOverAndWakesIt) {
  arrive(0, {datagram(1, 1), datagram(1, 2, 9)});
  EXPECT_EQ(take(0), Taken{});
  EXPECT_FALSE(written_[0]->lent) << "a batch for others alone is released";
  EXPECT_EQ(written_[1]->wakes, 1);
  EXPECT_EQ(take(1), (Taken{{1, kWhole}, {2, kHeader + 9}}));
  EXPECT_EQ(take(1), Taken{});
  EXPECT_EQ(engines_[0]->statistics().handed_over, 2U);
}

// GRO merges datagrams of one sender and size, whatever connections they belong to.
TEST_F(EnginesTest, AMergedRunOfSeveralConnectionsIsCutBetweenTheirEngines) {
  arrive(0, {datagram(0, 1), datagram(1, 2), datagram(1, 3), datagram(0, 4), datagram(1, 5, 3)});
  arrive(0, {datagram(0, 6)});
  EXPECT_EQ(take(0), (Taken{{1, kWhole}, {4, kWhole}, {6, kWhole}})) << "in order";
  EXPECT_EQ(take(1), (Taken{{2, kWhole}, {3, kWhole}, {5, kHeader + 3}}));
}

TEST_F(EnginesTest, PartsBeyondABatchFollowInTheNext) {
  std::vector<std::vector<std::byte>> mixed;
  for (int i = 0; i < 200; ++i)
    mixed.push_back(datagram(i % 2 == 0 ? 0 : 1, static_cast<uint8_t>(i)));
  arrive(0, mixed);
  for (const size_t at : {size_t{0}, size_t{1}}) {
    Taken all;
    for (int n = 0; n < 4; ++n) {
      for (const auto& each : take(at)) all.push_back(each);
    }
    ASSERT_EQ(all.size(), 100U);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].first, static_cast<int>(2 * i + at));
  }
}

TEST_F(EnginesTest, PlacedPayloadOfAnotherEngineIsHandedOverWithItsHeader) {
  std::vector<std::byte> memory(1000);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
  const transport::RegionId region =
      engines_[0]->register_memory(memory.data(), memory.size()).value();
  std::vector<std::byte> headers;
  for (const uint8_t engine : {uint8_t{0}, uint8_t{1}, uint8_t{0}}) {
    const auto header = datagram(engine, static_cast<uint8_t>(40 + headers.size()), 0);
    headers.insert(headers.end(), header.begin(), header.end());
  }
  RxRun run;
  run.payload_at = PayloadAt::kPlaced;
  run.segments = 3;
  run.segment_bytes = kHeader + 100;
  run.last_segment_bytes = kHeader + 50;
  run.frame = headers.data();
  run.place = {.region = region, .offset = 200, .length = 250};
  written_[0]->input.push_back(run);
  RxBatch batch;
  ASSERT_EQ(engines_[0]->receive(batch, nullptr), 2U);
  EXPECT_EQ(batch.runs[0].place.offset, 200U);
  EXPECT_EQ(batch.runs[1].place.offset, 400U);
  EXPECT_EQ(batch.runs[1].last_segment_bytes, kHeader + 50);
  EXPECT_EQ(batch.runs[1].payload_at, PayloadAt::kPlaced);
  EXPECT_EQ(batch.runs[1].frame, headers.data() + 2 * kHeader);
  engines_[0]->release(batch);
  ASSERT_EQ(engines_[1]->receive(batch, nullptr), 1U);
  EXPECT_EQ(batch.runs[0].payload_at, PayloadAt::kFrame);
  ASSERT_EQ(batch.runs[0].last_segment_bytes, kHeader + 100);
  EXPECT_EQ(std::memcmp(batch.runs[0].frame, headers.data() + kHeader, kHeader), 0);
  EXPECT_EQ(std::memcmp(batch.runs[0].frame + kHeader, memory.data() + 300, 100), 0);
  engines_[1]->release(batch);
}

TEST_F(EnginesTest, AResetReachesEveryEngine) {
  auto reset = datagram(0, 9, 0);
  reset[0] = kReset;
  arrive(1, {reset});
  EXPECT_EQ(take(1).size(), 1U);
  EXPECT_EQ(take(0).size(), 1U);
}

TEST_F(EnginesTest, AFullInboxDropsAndCounts) {
  constexpr size_t kMany = engines_params::kInboxBytes / kWhole + 200;
  for (size_t i = 0; i < kMany; ++i) arrive(0, {datagram(1, 1)});
  while (!written_[0]->input.empty()) take(0);
  const DatapathStatistics counted = engines_[0]->statistics();
  EXPECT_GT(counted.dropped_at_receive, 100U);
  EXPECT_EQ(counted.dropped_at_receive + counted.handed_over, kMany);
  size_t taken = 0;
  for (Taken each = take(1); !each.empty(); each = take(1)) taken += each.size();
  EXPECT_EQ(taken, counted.handed_over);
}

TEST_F(EnginesTest, DatagramsForAClosedEngineAreDropped) {
  engines_.pop_back();
  arrive(0, {datagram(1, 1), datagram(0, 2)});
  EXPECT_EQ(take(0), (Taken{{2, kWhole}}));
  EXPECT_EQ(engines_[0]->statistics().dropped_at_receive, 1U);
}

TEST_F(EnginesTest, TwoThreadsHandOverToEachOther) {
  constexpr int kRuns = 2000;
  for (int i = 0; i < kRuns; ++i) {
    arrive(0, {datagram(1, 1), datagram(0, 2)});
    arrive(1, {datagram(0, 1), datagram(1, 2)});
  }
  std::array<size_t, 2> taken{};
  const auto drive = [&](size_t at) {
    while (taken[at] < 2 * kRuns) {
      taken[at] += take(at).size();
      std::this_thread::yield();
    }
  };
  std::thread other(drive, 1);
  drive(0);
  other.join();
  EXPECT_EQ(taken[0], 2U * kRuns);
}

// --- over UDP ---

// Sends one datagram of `packet` with headers of its own.
void send(Datapath& from, const transport::Address& to, std::span<const std::byte> packet) {
  transport::TxBurst burst;
  burst.to = to;
  burst.segments = 1;
  burst.header_bytes = static_cast<uint16_t>(packet.size());
  burst.headers = packet.data();
  ASSERT_EQ(from.transmit({&burst, 1}), 1U);
}

TEST(UdpEngines, TheKernelGivesEachDatagramToTheEngineThatItNames) {
  constexpr uint8_t kEngines = 3;
  const UdpOptions options{.bind = "127.0.0.1", .paths = 1};
  auto opened = open_udp_engines(options, kEngines);
  ASSERT_TRUE(opened) << opened.error().message();
  auto& engines = *opened;
  const auto sender = open_udp(options).value();
  const transport::Address to = engines[0]->local_address();
  for (const auto& each : engines) EXPECT_EQ(each->local_address(), to);
  std::array<size_t, kEngines> expected{};
  std::vector<std::vector<std::byte>> packets;
  for (uint8_t id = 0; id < 40; ++id) {
    for (const uint8_t type : {1, 2, 3, 4, 5, 8, 9, 10, 11}) {
      std::vector<std::byte> packet(64, std::byte{id});
      packet[0] = std::byte{static_cast<uint8_t>(0x20 | type)};
      packet[transport::kEngineParityKindAt] = std::byte{1};
      const uint8_t owner = transport::engine_of(packet, {.count = kEngines});
      if (owner >= kEngines) continue;
      ++expected[owner];
      send(*sender, to, packet);
    }
  }
  std::array<size_t, kEngines> got{};
  RxBatch batch;
  for (size_t at = 0; at < kEngines; ++at) {
    while (got[at] < expected[at] && engines[at]->receive(batch, nullptr) > 0) {
      for (size_t i = 0; i < batch.count; ++i) got[at] += batch.runs[i].segments;
      engines[at]->release(batch);
    }
    // None took the detour over another engine: the filter and engine_of() agree.
    EXPECT_EQ(engines[at]->statistics().handed_over, 0U);
  }
  EXPECT_EQ(got, expected);
  for (const size_t each : expected) EXPECT_GT(each, 0U);
}

TEST(UdpEngines, TheSharedPortIsInUseForAllOthers) {
  UdpOptions options{.bind = "127.0.0.1", .paths = 1};
  const auto engines = open_udp_engines(options, 2);
  ASSERT_TRUE(engines);
  options.port = (*engines)[0]->local_address().port;
  EXPECT_EQ(open_udp(options).error().code, ErrorCode::kInUse);
  EXPECT_EQ(open_udp_engines(options, 2).error().code, ErrorCode::kInUse);
}

}  // namespace
}  // namespace heddle::datapath
