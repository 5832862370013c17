// Virtual memory compared with a model of every byte; and its use through datapaths.
#include "simulator/virtual_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "datapath/datapath.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using transport::PayloadAt;
using transport::RegionId;

TEST(VirtualMemory, StartsAsItsOwnPattern) {
  VirtualMemory memory;
  const RegionId region = memory.add(9, 1'000);
  EXPECT_TRUE(is_virtual(region));
  std::vector<Content> pieces;
  memory.read({region, 10, 20}, pieces);
  EXPECT_THAT(pieces, ElementsAre(Content{region, 10, 20}));
  EXPECT_EQ(memory.pattern(region), 9u);
}

TEST(VirtualMemory, AdjacentPiecesMergeAndOverlappedPiecesAreCut) {
  VirtualMemory memory;
  const RegionId a = memory.add(1, 1'000);
  const RegionId b = memory.add(2, 1'000);
  memory.write(a, 100, {b, 0, 50});
  memory.write(a, 150, {b, 50, 50});
  memory.write(a, 120, {b, 500, 10});
  std::vector<Content> pieces;
  memory.read({a, 90, 120}, pieces);
  EXPECT_THAT(pieces, ElementsAre(Content{a, 90, 10}, Content{b, 0, 20}, Content{b, 500, 10},
                                  Content{b, 30, 70}, Content{a, 200, 10}));
  EXPECT_EQ(memory.read_one({a, 130, 70}), (Content{b, 30, 70}));
  EXPECT_EQ(memory.read_one({a, 119, 2}).name, kUnknownBytes);
  memory.reset({a, 0, 1'000});
  EXPECT_EQ(memory.read_one({a, 0, 1'000}), (Content{a, 0, 1'000}));
}

TEST(VirtualMemory, AgreesWithAModelOfEveryByte) {
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    VirtualMemory memory;
    constexpr uint64_t kBytes = 60;
    std::vector<RegionId> ids;
    for (uint64_t i = 0; i < 3; ++i) ids.push_back(memory.add(i, kBytes));
    std::vector<std::pair<RegionId, uint64_t>> model;
    for (uint64_t i = 0; i < kBytes; ++i) model.emplace_back(ids[0], i);
    for (int step = 0; step < 40; ++step) {
      const uint64_t length = 1 + random.below(20);
      const uint64_t to = random.below(kBytes - length + 1);
      const bool follows =
          to > 0 && random.below(2) == 0;  // the usual case: continues the previous piece
      const RegionId name = follows ? model[to - 1].first : ids[random.below(3)];
      const uint64_t at = follows ? model[to - 1].second + 1 : random.below(1'000);
      memory.write(ids[0], to, {name, at, length});
      for (uint64_t i = 0; i < length; ++i) model[to + i] = {name, at + i};
      std::vector<Content> pieces;
      memory.read({ids[0], 0, kBytes}, pieces);
      uint64_t place = 0;
      for (const Content& piece : pieces) {
        for (uint64_t i = 0; i < piece.length; ++i, ++place) {
          ASSERT_EQ(model[place], (std::pair{piece.name, piece.at + i})) << "round " << round;
        }
      }
      ASSERT_EQ(place, kBytes);
    }
  }
}

TEST(VirtualMemoryDeathTest, AccessOutsideARegionAborts) {
  VirtualMemory memory;
  const RegionId region = memory.add(1, 100);
  EXPECT_DEATH(memory.check({region, 50, 51}), "CHECK failed");
  EXPECT_DEATH(memory.check({region + 1, 0, 1}), "CHECK failed");
  memory.remove(region);
  EXPECT_DEATH(memory.check({region, 0, 1}), "CHECK failed");
  EXPECT_EQ(memory.pattern(region), 1u) << "packets under way may still name it";
}

// Sends `burst` from a to b; returns the one received run (its frame released).
class VirtualTransferTest : public testing::Test {
 protected:
  VirtualTransferTest()
      : network_(topology::point_to_point({}), {}, 1),
        a_(network_, {.nic = 0}),
        b_(network_, {.nic = 1}) {}

  void send(RegionId region, uint64_t offset, uint16_t segments, uint32_t bytes, uint32_t last,
            uint16_t header_bytes = transport::kDataHeaderBytes) {
    std::vector<std::byte> headers(size_t{segments} * header_bytes, std::byte{0x11});
    transport::TxBurst burst;
    burst.to = b_.local_address();
    burst.segments = segments;
    burst.header_bytes = header_bytes;
    burst.headers = headers.data();
    burst.payload_bytes = bytes;
    burst.last_payload_bytes = last;
    burst.region = region;
    burst.offset = offset;
    ASSERT_EQ(a_.transmit({&burst, 1}), 1u);
  }
  transport::RxRun receive(const transport::Prediction* prediction = nullptr) {
    b_.wait(network_.now() + millis(10));
    network_.run_until(network_.now() + micros(10));
    datapath::RxBatch batch;
    EXPECT_EQ(b_.receive(batch, prediction), 1u);
    const transport::RxRun run = batch.runs[0];
    b_.release(batch);
    return run;
  }
  // Places the whole run at `to`.
  void place(const transport::RxRun& run, RegionId region, uint64_t to) {
    transport::Placement placement;
    placement.payload_at = run.payload_at;
    placement.from = run.place;
    placement.segments = run.segments;
    placement.bytes = run.segment_bytes - transport::kDataHeaderBytes;
    placement.last_bytes = run.last_segment_bytes - transport::kDataHeaderBytes;
    placement.to_region = region;
    placement.to_offset = to;
    b_.place({&placement, 1});
  }

  Network network_;
  SimDatapath a_;
  SimDatapath b_;
};

TEST_F(VirtualTransferTest, AReferenceIsTransmittedAndPlaced) {
  const RegionId source = a_.register_virtual(5, 1u << 30);
  const RegionId target = b_.register_virtual(6, 1u << 30);
  send(source, 700'000'000, 4, 8'000, 123);
  const transport::RxRun run = receive();
  EXPECT_EQ(run.payload_at, PayloadAt::kVirtual);
  EXPECT_EQ(run.segments, 4u);
  EXPECT_EQ(run.place.length, 24'123u);
  place(run, target, 100);
  EXPECT_EQ(network_.virtual_memory().read_one({target, 100, 24'123}),
            (Content{source, 700'000'000, 24'123}));
}

TEST_F(VirtualTransferTest, VirtualBytesReachHostMemoryAsTheirPattern) {
  const RegionId source = a_.register_virtual(5, 100'000);
  std::vector<std::byte> memory(2'000);
  const RegionId target = *b_.register_memory(memory.data(), memory.size());
  send(source, 1'234, 2, 900, 77);
  place(receive(), target, 3);
  EXPECT_EQ(datapath::pattern_mismatch(5, 1'234, std::span(memory).subspan(3, 977)), 977u);
}

TEST_F(VirtualTransferTest, SegmentsWithOtherHeadersAreReceivedAlone) {
  const RegionId source = a_.register_virtual(5, 100'000);
  for (const uint16_t header_bytes : {12, 39, 41, 200}) {
    send(source, 50, 2, 300, 300, header_bytes);
    network_.run_until(network_.now() + millis(1));
    datapath::RxBatch batch;
    ASSERT_EQ(b_.receive(batch, nullptr), 2u);
    for (uint64_t i = 0; i < 2; ++i) {
      const transport::RxRun& run = batch.runs[i];
      EXPECT_EQ(run.payload_at, PayloadAt::kVirtual);
      EXPECT_EQ(run.segments, 1u);
      EXPECT_EQ(run.segment_bytes, header_bytes + 300u);
      EXPECT_EQ(run.header_bytes, header_bytes);
      EXPECT_EQ(run.frame[header_bytes - 1], std::byte{0x11});
      EXPECT_EQ(run.place.offset, 50 + 300 * i);
      EXPECT_EQ(run.place.length, 300u);
    }
    b_.release(batch);
  }
}

TEST_F(VirtualTransferTest, ReceivedContentCanBeForwarded) {
  const RegionId source = b_.register_virtual(5, 100'000);
  const RegionId middle = a_.register_virtual(6, 100'000);
  const RegionId target = b_.register_virtual(7, 100'000);
  network_.virtual_memory().write(middle, 0, {source, 4'000, 3'000});
  send(middle, 500, 2, 1'000, 1'000);
  place(receive(), target, 0);
  EXPECT_EQ(network_.virtual_memory().read_one({target, 0, 2'000}),
            (Content{source, 4'500, 2'000}));
}

TEST_F(VirtualTransferTest, ASegmentOfMixedOriginMatchesNoPattern) {
  const RegionId source = a_.register_virtual(5, 100'000);
  const RegionId target = b_.register_virtual(7, 100'000);
  network_.virtual_memory().write(source, 0, {target, 0, 500});
  send(source, 0, 1, 1'000, 1'000);
  place(receive(), target, 0);
  EXPECT_EQ(network_.virtual_memory().read_one({target, 0, 1'000}).name, kUnknownBytes);
}

TEST_F(VirtualTransferTest, APredictionCanPlaceReferences) {
  const RegionId source = a_.register_virtual(5, 100'000);
  const RegionId target = b_.register_virtual(7, 100'000);
  transport::Prediction prediction;
  prediction.place = {target, 2'000, 10'000};
  prediction.payload_bytes = 1'000;
  send(source, 300, 3, 1'000, 10);
  const transport::RxRun run = receive(&prediction);
  EXPECT_EQ(run.payload_at, PayloadAt::kPlaced);
  EXPECT_EQ(network_.virtual_memory().read_one({target, 2'000, 2'010}),
            (Content{source, 300, 2'010}));
  // A wrong prediction leaves garbage in the place and returns the reference.
  prediction.mask[0] = std::byte{1};
  send(source, 300, 1, 1'000, 1'000);
  EXPECT_EQ(receive(&prediction).payload_at, PayloadAt::kVirtual);
  EXPECT_EQ(network_.virtual_memory().read_one({target, 2'000, 1'000}).name, kUnknownBytes);
}

// Two runs that landed in each other's place are exchanged.
TEST_F(VirtualTransferTest, CopiesOfABatchReadBeforeTheyWrite) {
  const RegionId source = a_.register_virtual(5, 100'000);
  const RegionId target = b_.register_virtual(7, 100'000);
  VirtualMemory& memory = network_.virtual_memory();
  memory.write(target, 0, {source, 1'000, 1'000});
  memory.write(target, 1'000, {source, 0, 1'000});
  std::array<transport::Placement, 2> swap;
  for (size_t i = 0; i < 2; ++i) {
    swap[i].payload_at = PayloadAt::kPlaced;
    swap[i].from = {target, i * 1'000, 1'000};
    swap[i].segments = 1;
    swap[i].bytes = swap[i].last_bytes = 1'000;
    swap[i].to_region = target;
    swap[i].to_offset = 1'000 - i * 1'000;
  }
  b_.place(swap);
  EXPECT_EQ(memory.read_one({target, 0, 2'000}), (Content{source, 0, 2'000}));
}

}  // namespace
}  // namespace heddle::simulator
