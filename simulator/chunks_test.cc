// Remote writes: they land completely and in order or not at all; delayed ones land late until a
// fence; a reliable NIC retransmits them and reports their outcome.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using topology::LinkChangeKind;
using transport::NicEvent;
using transport::NicEventKind;

constexpr uint32_t kChunk = 65'536;
constexpr uint64_t kSourcePattern = 3;
constexpr uint64_t kTargetPattern = 4;
constexpr uint32_t kConnectionA = 11;  // at the sender
constexpr uint32_t kConnectionB = 22;  // at the receiver

class ChunksTest : public testing::Test {
 protected:
  void make(SimDatapathOptions options = {}, const topology::LinkFaults& faults = {},
            bool reliable = false) {
    topology::Topology topology =
        topology::point_to_point({.rate = gigabits_per_s(100), .queue = mebibytes(64)});
    topology.links[0].forward = faults;
    network_.emplace(topology, NetworkOptions{.nic_queue = mebibytes(64)}, 1);
    options.chunk_paths = 8;
    options.chunks.reliable = reliable;
    options.nic = 0;
    a_.emplace(*network_, options);
    options.nic = 1;
    b_.emplace(*network_, options);
    source_ = a_->register_virtual(kSourcePattern, 1u << 30);
    target_ = b_->register_virtual(kTargetPattern, 1u << 30);
    b_->admit({kConnectionB, 8, a_->local_address()});
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    if (network_) {
      network_->run_until(network_->now() + seconds(10));
      EXPECT_EQ(network_->packets_alive(), 0u) << "a packet was forgotten";
    }
  }

  // Writes `bytes` of the source from `at` on to the same offset of the target.
  void write(uint16_t path, uint64_t at, uint32_t bytes = kChunk, uint32_t epoch = 0) {
    transport::ChunkWrite chunk;
    chunk.from_connection = kConnectionA;
    chunk.to_connection = kConnectionB;
    chunk.number = numbers_;
    chunk.epoch = epoch;
    chunk.immediate = static_cast<uint32_t>(numbers_++);
    chunk.token = token_.value_or(b_->token(target_));
    chunk.remote_offset = at;
    transport::TxBurst burst;
    burst.to = b_->local_address();
    burst.path = path;
    burst.segments = 1;
    burst.payload_bytes = burst.last_payload_bytes = bytes;
    burst.region = bytes > 0 ? source_ : transport::kNoRegion;
    burst.offset = at;
    burst.write = &chunk;
    ASSERT_EQ(a_->transmit({&burst, 1}), 1u);
  }
  std::vector<NicEvent> events(SimDatapath& datapath) {
    std::vector<NicEvent> out;
    datapath::RxBatch batch;
    size_t count = 0;
    do {
      datapath.receive(batch, nullptr);
      count = batch.event_count;
      out.insert(out.end(), batch.events.begin(), batch.events.begin() + count);
      datapath.release(batch);
    } while (count > 0);
    return out;
  }
  // The immediates of chunks that have landed at b since the last call.
  std::vector<uint32_t> arrived() {
    std::vector<uint32_t> out;
    for (const NicEvent& event : events(*b_)) {
      EXPECT_EQ(event.kind, NicEventKind::kArrived);
      EXPECT_EQ(event.connection, kConnectionB);
      out.push_back(event.immediate);
    }
    return out;
  }
  bool landed(uint64_t at, uint64_t bytes) {
    return network_->virtual_memory().read_one({target_, at, bytes}) == Content{source_, at, bytes};
  }
  bool untouched(uint64_t at, uint64_t bytes) {
    return network_->virtual_memory().read_one({target_, at, bytes}) == Content{target_, at, bytes};
  }
  void run(Nanos span) { network_->run_until(network_->now() + span); }
  void fence(uint16_t path, uint32_t epoch) { b_->fence({kConnectionB, path, epoch}); }
  // Every chunk, or every second one, stays in the NIC for 5 ms.
  void make_stalling(bool reliable, uint32_t stall_every = 1) {
    SimDatapathOptions options;
    options.chunks.stall_every = stall_every;
    options.chunks.stall_for = millis(5);
    make(options, {}, reliable);
  }

  std::optional<Network> network_;
  std::optional<SimDatapath> a_;
  std::optional<SimDatapath> b_;
  transport::RegionId source_ = 0;
  transport::RegionId target_ = 0;
  uint64_t numbers_ = 0;
  std::optional<transport::MemoryToken> token_;  // empty: the target's token
};

TEST_F(ChunksTest, DatagramNetworksHaveNoTokens) {
  make();
  Network network(topology::point_to_point({}), {}, 1);
  SimDatapath plain(network, {});
  const transport::RegionId region = plain.register_virtual(1, 100);
  EXPECT_EQ(plain.token(region).length, 0);
  EXPECT_EQ(plain.capabilities().chunk_paths, 0);
  EXPECT_EQ(a_->capabilities().chunk_paths, 8);
  EXPECT_EQ(a_->capabilities().chunk_bytes, kChunk);
  EXPECT_GT(a_->token(source_).length, 0);
}

TEST_F(ChunksTest, AWriteLandsAndIsReported) {
  make();
  write(3, 1'000, 50'000);
  run(millis(1));
  const auto reported = events(*b_);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].kind, NicEventKind::kArrived);
  EXPECT_EQ(reported[0].connection, kConnectionB);
  EXPECT_EQ(reported[0].path, 3);
  EXPECT_EQ(reported[0].bytes, 50'000u);
  EXPECT_EQ(reported[0].from.host, a_->local_address().host);
  EXPECT_LE(reported[0].at, b_->now());
  EXPECT_TRUE(landed(1'000, 50'000));
  EXPECT_TRUE(untouched(0, 1'000));
  EXPECT_TRUE(untouched(51'000, 1'000));
  EXPECT_THAT(events(*a_), ElementsAre()) << "an unreliable NIC does not tell";
}

TEST_F(ChunksTest, HostMemoryIsWrittenAsWell) {
  make();
  std::vector<std::byte> from(100'000);
  std::vector<std::byte> to(100'000);
  datapath::fill_pattern(9, 0, from);
  source_ = *a_->register_memory(from.data(), from.size());
  target_ = *b_->register_memory(to.data(), to.size());
  write(0, 20'000);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre(0));
  EXPECT_EQ(datapath::pattern_mismatch(9, 20'000, std::span(to).subspan(20'000, kChunk)), kChunk);
  EXPECT_EQ(to[19'999], std::byte{0});
  EXPECT_EQ(to[20'000 + kChunk], std::byte{0});
}

TEST_F(ChunksTest, TheNicReadsThePayloadAsItLeaves) {
  make();
  std::vector<std::byte> from(kChunk);
  std::vector<std::byte> to(kChunk);
  datapath::fill_pattern(9, 0, from);
  source_ = *a_->register_memory(from.data(), from.size());
  target_ = *b_->register_memory(to.data(), to.size());
  write(0, 0);
  datapath::fill_pattern(10, 0, from);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre(0));
  EXPECT_EQ(datapath::pattern_mismatch(10, 0, to), kChunk);
}

TEST_F(ChunksTest, AStalledQueuePairGoesOnInOrder) {
  for (const bool reliable : {false, true}) {
    make_stalling(reliable, 2);
    for (uint32_t i = 0; i < 4; ++i) write(0, uint64_t{i} * kChunk);
    write(1, 4 * kChunk);
    run(millis(4));
    EXPECT_EQ(arrived().size(), 2u) << "the first of each path";
    run(millis(4));
    EXPECT_EQ(arrived().size(), 3u);
    EXPECT_TRUE(landed(0, 5 * kChunk));
    TearDown();
    numbers_ = 0;
  }
}

TEST_F(ChunksTest, ARecalledWriteIsReadNoMore) {
  for (const bool reliable : {false, true}) {
    make_stalling(reliable);
    write(0, 0);
    write(1, kChunk);
    run(millis(1));
    a_->recall({kConnectionA, 0});
    const auto reported = events(*a_);
    ASSERT_EQ(reported.size(), reliable ? 1u : 0u);
    for (const NicEvent& event : reported) EXPECT_FALSE(event.ok);
    run(millis(20));
    EXPECT_TRUE(untouched(0, kChunk));
    EXPECT_TRUE(landed(kChunk, kChunk)) << "other paths go on";
    TearDown();
  }
}

TEST_F(ChunksTest, ARecalledWriteEndsInTheQueueOfItsNic) {
  for (const bool reliable : {false, true}) {
    make({}, {}, reliable);
    for (uint16_t path = 0; path < 4; ++path) write(path, uint64_t{path} * kChunk);
    a_->recall({kConnectionA, transport::RecallRequest::kEveryPath});
    run(millis(20));
    EXPECT_TRUE(untouched(0, 4 * kChunk));
    EXPECT_GT(network_->fates()[Fate::kWriteRecalled], 4u);
    TearDown();
  }
}

TEST_F(ChunksTest, ARecallLeavesAPathWithoutUnreadPayloadAsItIs) {
  for (const bool reliable : {false, true}) {
    make({}, {}, reliable);
    numbers_ = 0;
    write(0, 0);
    run(millis(1));
    write(0, 0, 0);  // a probe reads nothing
    a_->recall({kConnectionA, 0});
    write(0, kChunk);
    run(millis(1));
    EXPECT_THAT(arrived(), ElementsAre(0, 1, 2));
    TearDown();
  }
}

TEST_F(ChunksTest, AnEmptyChunkIsReportedAndWritesNothing) {
  make();
  write(1, 0, 0);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre(0));
  EXPECT_TRUE(untouched(0, 1'000));
}

TEST_F(ChunksTest, ChunksOfAPathArriveInOrderOrNotAtAll) {
  make({}, {.loss_per_million = 20'000,
            .duplicate_per_million = 20'000,
            .reorder_per_million = 20'000,
            .reorder_min = micros(1),
            .reorder_max = micros(200)});
  std::vector<uint32_t> last(8);
  size_t count = 0;
  for (uint32_t i = 0; i < 400; ++i) write(static_cast<uint16_t>(i % 8), uint64_t{i} * kChunk);
  run(millis(20));
  for (const NicEvent& event : events(*b_)) {
    EXPECT_GE(event.immediate, last[event.path]) << "out of order, or twice";
    last[event.path] = event.immediate + 1;
    EXPECT_EQ(event.immediate % 8, event.path);
    EXPECT_TRUE(landed(uint64_t{event.immediate} * kChunk, kChunk))
        << "reported before it was whole";
    ++count;
  }
  EXPECT_GT(count, 100u);
  EXPECT_LT(count, 350u);
  EXPECT_GT(network_->fates()[Fate::kWriteGap], 0u);
  EXPECT_GT(network_->fates()[Fate::kWriteStale], 0u);
}

// The reason for fences: a chunk that was declared lost lands much later.
TEST_F(ChunksTest, AHeldBackChunkLandsLate) {
  make({},
       {.reorder_per_million = 1'000'000, .reorder_min = millis(50), .reorder_max = millis(50)});
  write(2, 0);
  network_->apply({.link = 0, .kind = LinkChangeKind::kFaults});
  run(millis(40));
  EXPECT_TRUE(untouched(0, kChunk));
  EXPECT_THAT(arrived(), ElementsAre());
  run(millis(20));
  EXPECT_TRUE(landed(0, kChunk));
}

TEST_F(ChunksTest, ALaterWriteOfThePathActsAsAFence) {
  make({},
       {.reorder_per_million = 1'000'000, .reorder_min = millis(50), .reorder_max = millis(50)});
  write(2, 0);
  network_->apply({.link = 0, .kind = LinkChangeKind::kFaults});
  run(micros(1));
  write(3, kChunk);  // other paths are not affected
  write(2, 0, 0);
  run(millis(100));
  EXPECT_THAT(arrived(), ElementsAre(1, 2));
  EXPECT_TRUE(untouched(0, kChunk)) << "it was overtaken";
  EXPECT_TRUE(landed(kChunk, kChunk));
}

TEST_F(ChunksTest, AFenceRejectsOlderEpochsOnceItIsReported) {
  make({},
       {.reorder_per_million = 1'000'000, .reorder_min = millis(50), .reorder_max = millis(50)});
  write(2, 0);
  write(3, kChunk);
  network_->apply({.link = 0, .kind = LinkChangeKind::kFaults});
  run(millis(1));
  fence(2, 1);
  EXPECT_THAT(events(*b_), ElementsAre()) << "it takes a while";
  run(millis(1));
  const auto reported = events(*b_);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].kind, NicEventKind::kFenced);
  EXPECT_EQ(reported[0].connection, kConnectionB);
  EXPECT_EQ(reported[0].path, 2);
  EXPECT_EQ(reported[0].epoch, 1u);
  write(2, 2 * kChunk, kChunk, 1);
  run(millis(100));
  EXPECT_TRUE(untouched(0, kChunk));
  EXPECT_TRUE(landed(kChunk, kChunk)) << "other paths are not fenced";
  EXPECT_TRUE(landed(2 * kChunk, kChunk)) << "the new epoch passes";
}

TEST_F(ChunksTest, WritesLandUntilTheFenceIsReported) {
  make({.fence_takes = millis(1)});
  fence(0, 1);
  write(0, 0);
  run(micros(500));
  EXPECT_THAT(arrived(), ElementsAre(0));
  EXPECT_TRUE(landed(0, kChunk));
  run(millis(1));
  write(0, kChunk);
  run(millis(1));
  EXPECT_TRUE(untouched(kChunk, kChunk));
}

TEST_F(ChunksTest, AFenceOfEveryPathIsPermanent) {
  make();
  fence(transport::FenceRequest::kEveryPath, 0);
  run(millis(1));
  const auto reported = events(*b_);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].path, transport::FenceRequest::kEveryPath);
  for (uint16_t path = 0; path < 8; ++path) write(path, uint64_t{path} * kChunk);
  run(millis(10));
  EXPECT_TRUE(untouched(0, 8 * kChunk));
  EXPECT_THAT(arrived(), ElementsAre());
  EXPECT_GT(network_->fates()[Fate::kWriteStale], 8u);
}

TEST_F(ChunksTest, OnlyAdmittedPeersWrite) {
  make();
  const auto rejected = [this] { return network_->fates()[Fate::kWriteStale]; };
  b_->admit({kConnectionB, 8, b_->local_address()});
  write(0, 0);
  run(millis(1));
  const uint64_t pieces = rejected();
  EXPECT_GT(pieces, 0u) << "it comes from another host";
  b_->admit({kConnectionB, 2, a_->local_address()});
  write(2, 0);
  run(millis(1));
  EXPECT_EQ(rejected(), 2 * pieces) << "the peer has two paths";
  EXPECT_TRUE(untouched(0, kChunk));
  write(1, 0);
  run(millis(1));
  EXPECT_TRUE(landed(0, kChunk));
}

TEST_F(ChunksTest, TokensOfUnregisteredMemoryAreRejected) {
  make();
  write(0, 0);  // in flight when its memory is unregistered
  std::vector<std::byte> memory(kChunk);
  b_->unregister_memory(target_);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre());
  EXPECT_GT(network_->fates()[Fate::kWriteForbidden], 0u);
  // Ids of host regions are reused: the old token must not reach the new memory.
  target_ = *b_->register_memory(memory.data(), memory.size());
  const transport::MemoryToken old = b_->token(target_);
  b_->unregister_memory(target_);
  const transport::RegionId again = *b_->register_memory(memory.data(), memory.size());
  EXPECT_EQ(again, target_);
  EXPECT_NE(b_->token(again).bytes, old.bytes);
}

TEST_F(ChunksTest, AWriteBeyondItsMemoryIsRejected) {
  make();
  target_ = b_->register_virtual(kTargetPattern, 100'000);
  write(0, 100'000 - kChunk + 1);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre());
  EXPECT_EQ(network_->fates()[Fate::kWriteForbidden], 1u) << "its last piece";
}

// Regression: the peer supplies tokens, and a placed grant with a token of 12 bytes aborted the
// process.
TEST_F(ChunksTest, ATokenOfAnotherLengthNamesNoMemory) {
  make();
  token_.emplace();
  for (const uint8_t length : {0, 1, 12, 32}) {
    token_->length = length;
    write(0, 0);
  }
  network_->run_until(network_->now() + millis(10));
  EXPECT_TRUE(events(*b_).empty());
  EXPECT_EQ(network_->fates()[Fate::kWriteForbidden], 4u);
}

TEST_F(ChunksTest, AFullEventQueueLosesChunks) {
  make({.chunk_events = 3});
  for (uint32_t i = 0; i < 5; ++i) write(0, uint64_t{i} * kChunk);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre(0, 1, 2));
  EXPECT_EQ(network_->fates()[Fate::kReceiveQueueFull], 2u);
  write(0, 0);
  run(millis(1));
  EXPECT_THAT(arrived(), ElementsAre(5));
}

TEST_F(ChunksTest, AReliableNicRetransmitsAndReports) {
  make({.chunk_events = 16}, {.loss_per_million = 20'000, .corrupt_payload_per_million = 5'000},
       true);
  EXPECT_TRUE(a_->capabilities().reliable_chunks);
  std::vector<uint32_t> got;
  std::vector<uint64_t> sent;
  for (uint32_t i = 0; i < 200; ++i) {
    write(static_cast<uint16_t>(i % 2), uint64_t{i} * kChunk);
    run(micros(10));
    for (const uint32_t immediate : arrived()) got.push_back(immediate);
  }
  for (int i = 0; i < 300; ++i) {
    run(millis(1));
    for (const uint32_t immediate : arrived()) got.push_back(immediate);
  }
  for (const NicEvent& event : events(*a_)) {
    EXPECT_EQ(event.kind, NicEventKind::kSent);
    EXPECT_EQ(event.connection, kConnectionA);
    EXPECT_EQ(event.epoch, 0u);
    EXPECT_TRUE(event.ok);
    sent.push_back(event.number);
  }
  std::sort(got.begin(), got.end());
  std::sort(sent.begin(), sent.end());
  std::vector<uint32_t> all(200);
  for (uint32_t i = 0; i < 200; ++i) all[i] = i;
  EXPECT_THAT(got, ElementsAreArray(all));
  EXPECT_THAT(sent, ElementsAreArray(all));
  EXPECT_TRUE(landed(0, 200 * kChunk));
  EXPECT_GT(network_->fates()[Fate::kLost], 0u);
}

TEST_F(ChunksTest, AFailedReliablePathIsResetByANewEpoch) {
  make({}, {}, true);
  network_->apply({.link = 0, .kind = LinkChangeKind::kDown});
  write(5, 0);
  write(5, kChunk);
  run(millis(31));
  EXPECT_THAT(events(*a_), ElementsAre()) << "seven tries of 4 ms";
  run(millis(2));
  auto reported = events(*a_);
  ASSERT_EQ(reported.size(), 2u);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reported[i].number, i);
    EXPECT_EQ(reported[i].path, 5);
    EXPECT_FALSE(reported[i].ok);
  }
  network_->apply({.link = 0, .kind = LinkChangeKind::kUp});
  write(5, 0);
  reported = events(*a_);
  ASSERT_EQ(reported.size(), 1u) << "a failed queue pair refuses at once";
  EXPECT_FALSE(reported[0].ok);
  fence(5, 1);
  run(millis(1));
  events(*b_);
  write(5, 0, kChunk, 1);
  run(millis(1));
  reported = events(*a_);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_TRUE(reported[0].ok);
  EXPECT_TRUE(landed(0, kChunk));
}

TEST_F(ChunksTest, AWriteThatANewEpochCutsOffIsReportedWithItsOwnEpoch) {
  make({}, {}, true);
  network_->apply({.link = 0, .kind = LinkChangeKind::kDown});
  write(5, 0);
  write(5, 0, kChunk, 1);
  const auto reported = events(*a_);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].number, 0u);
  EXPECT_EQ(reported[0].epoch, 0u);
  EXPECT_FALSE(reported[0].ok);
}

// Memory is written while the process gets no turn; only the event queue can overflow.
TEST_F(ChunksTest, WritesNeedNoTurnOfTheReceiver) {
  make();
  for (uint32_t i = 0; i < 10; ++i) write(0, uint64_t{i} * kChunk);
  run(millis(1));
  EXPECT_TRUE(landed(0, 10 * kChunk));
  EXPECT_EQ(arrived().size(), 10u);
}

}  // namespace
}  // namespace heddle::simulator
