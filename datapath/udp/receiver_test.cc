// The receiver: predictions over several runs, handling of wrong ones, and the capacity of its
// queue.
#include "datapath/udp/receiver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "datapath/regions.h"
#include "datapath/udp/testing/ends.h"

namespace heddle::datapath {
namespace {

using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;
using transport::TxBurst;

constexpr uint32_t kStep = 8'000;
constexpr uint64_t kPattern = 77;

UdpOptions loopback() {
  UdpOptions options;
  options.bind = "127.0.0.1";
  options.paths = 4;
  return options;
}

class ReceiverTest : public testing::Test {
 protected:
  void open(const UdpOptions& options = loopback()) {
    Result<std::unique_ptr<Ends>> ends = Ends::open(options);
    ASSERT_TRUE(ends.has_value()) << ends.error().message();
    ends_ = std::move(*ends);
    fill_pattern(kPattern, 0, ends_->source_bytes());
  }

  // Expects the burst whose payload begins at `offset`, whatever its number.
  Prediction expecting(uint64_t offset, uint64_t length) {
    Prediction prediction;
    for (int i = 0; i < 4; ++i) {
      prediction.header[Ends::kOffsetAt + i] = static_cast<std::byte>(offset >> (8 * i));
      prediction.mask[Ends::kOffsetAt + i] = std::byte{0xff};
    }
    prediction.place = {ends_->target(), offset, length};
    prediction.payload_bytes = kStep;
    prediction.offset_at = Ends::kOffsetAt;
    return prediction;
  }

  bool target_holds(uint64_t from, uint64_t to) {
    return pattern_mismatch(kPattern, from, ends_->target_bytes().subspan(from, to - from)) ==
           to - from;
  }

  // Lets the receiver see traffic, so that it reads as much as it can per call.
  void make_busy() {
    for (int i = 0; i < 2; ++i) {
      RxBatch batch;
      ASSERT_TRUE(ends_->send(ends_->row(9'999, 1, 10)));
      ASSERT_TRUE(ends_->receive(batch));
      ends_->b().release(batch);
    }
  }

  std::unique_ptr<Ends> ends_;
};

// Regression: request-response messages arrive alone, and each caused a second, empty read.
TEST_F(ReceiverTest, OneSmallDatagramCausesNoSecondRead) {
  open();
  const auto received = [this](uint32_t payload_bytes, int datagrams) {
    for (int i = 0; i < datagrams; ++i) {
      EXPECT_TRUE(ends_->send(ends_->row(9'999, 1, payload_bytes)));
    }
    RxBatch batch;
    EXPECT_TRUE(ends_->receive(batch));
    const size_t count = batch.count;
    ends_->b().release(batch);
    return count;
  };
  EXPECT_EQ(received(10, 1), 1u);
  EXPECT_EQ(received(10, 3), 1u) << "one at a time";
  EXPECT_EQ(received(10, 0), 2u) << "two in turn are one";
  RxBatch none;
  ASSERT_EQ(ends_->b().receive(none, nullptr), 0u);
  EXPECT_EQ(received(kStep, 1), 1u);
  EXPECT_EQ(received(10, 3), 3u) << "so is a large one";
}

TEST_F(ReceiverTest, APredictionContinuesFromRunToRun) {
  open();
  make_busy();
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(ends_->send(ends_->row(i * 5, 5, kStep, uint64_t{i} * 5 * kStep)));
  }
  const Prediction prediction = expecting(0, 15 * kStep);
  RxBatch batch;
  ASSERT_TRUE(ends_->receive(batch, &prediction));
  uint64_t next = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    const RxRun& run = batch.runs[i];
    ASSERT_EQ(run.payload_at, PayloadAt::kPlaced);
    EXPECT_EQ(run.place.offset, next);
    EXPECT_EQ(run.place.length, run.segments * uint64_t{kStep});
    EXPECT_EQ(run.segment_bytes, kStep + transport::kDataHeaderBytes);
    next += run.place.length;
  }
  EXPECT_EQ(next, 15u * kStep);
  EXPECT_TRUE(target_holds(0, 15 * kStep));
  EXPECT_EQ(ends_->b().statistics().payload_placed_bytes, 15u * kStep);
  EXPECT_EQ(ends_->b().statistics().payload_copied_bytes, 0u);
}

// Regression: the next message's payload was copied if the end of one arrived in the same batch.
TEST_F(ReceiverTest, DataBehindAFullPlaceWaitsForANewPrediction) {
  open();
  make_busy();
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(ends_->send(ends_->row(i * 5, 5, kStep, uint64_t{i} * 5 * kStep)));
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const Prediction prediction = expecting(uint64_t{i} * 5 * kStep, 5 * kStep);
    RxBatch batch;
    ASSERT_TRUE(ends_->receive(batch, &prediction));
    ASSERT_EQ(batch.count, 1u);
    EXPECT_EQ(batch.runs[0].payload_at, PayloadAt::kPlaced);
    EXPECT_TRUE(batch.place_filled);
    ends_->b().release(batch);
  }
  EXPECT_TRUE(target_holds(0, 10 * kStep));
  EXPECT_EQ(ends_->b().statistics().payload_copied_bytes, 0u);
}

TEST_F(ReceiverTest, SmallRunsBehindAFullPlaceAreReceivedWithIt) {
  open();
  make_busy();
  ASSERT_TRUE(ends_->send(ends_->row(0, 1, kStep, 0)));
  ASSERT_TRUE(ends_->send(ends_->row(1, 1, kStep, kStep)));
  const Prediction prediction = expecting(0, kStep);
  RxBatch batch;
  ASSERT_TRUE(ends_->receive(batch, &prediction));
  ASSERT_EQ(batch.count, 2u);
  EXPECT_EQ(batch.runs[1].payload_at, PayloadAt::kFrame);
  EXPECT_FALSE(batch.place_filled);
}

TEST_F(ReceiverTest, AnOutOfOrderRunEndsThePredictionAndStaysWhole) {
  open();
  make_busy();
  ASSERT_TRUE(ends_->send(ends_->row(0, 5, kStep, 0)));
  ASSERT_TRUE(ends_->send(ends_->row(10, 5, kStep, 10 * kStep)));  // a gap in front of it
  ASSERT_TRUE(ends_->send(ends_->row(15, 5, kStep, 15 * kStep)));
  const Prediction prediction = expecting(0, 60 * kStep);
  RxBatch batch;
  ASSERT_TRUE(ends_->receive(batch, &prediction));
  ASSERT_GE(batch.count, 2u);
  EXPECT_EQ(batch.runs[0].payload_at, PayloadAt::kPlaced);
  EXPECT_TRUE(target_holds(0, 5 * kStep));
  for (size_t i = 1; i < batch.count; ++i) {
    const RxRun& run = batch.runs[i];
    ASSERT_EQ(run.payload_at, PayloadAt::kFrame);
    for (uint32_t s = 0; s < run.segments; ++s) {
      const std::byte* payload =
          run.frame + size_t{s} * run.segment_bytes + transport::kDataHeaderBytes;
      const uint64_t offset = (5 + 5 * i + s) * uint64_t{kStep};
      EXPECT_EQ(pattern_mismatch(kPattern, offset, {payload, kStep}), kStep) << i << " " << s;
    }
  }
}

TEST_F(ReceiverTest, DataBeyondThePlaceIsDeliveredBehindIt) {
  open();
  for (const uint64_t room :
       {uint64_t{2 * kStep}, uint64_t{2 * kStep + 5'000}, uint64_t{kStep}, uint64_t{kStep + 1}}) {
    ASSERT_TRUE(ends_->send(ends_->row(0, 5, kStep, 0)));
    std::fill(ends_->target_bytes().begin(), ends_->target_bytes().end(), std::byte{0});
    const Prediction prediction = expecting(0, room);
    RxBatch batch;
    ASSERT_TRUE(ends_->receive(batch, &prediction));
    ASSERT_EQ(batch.count, 2u);
    const uint32_t placed = static_cast<uint32_t>(room / kStep);
    EXPECT_EQ(batch.runs[0].payload_at, PayloadAt::kPlaced);
    EXPECT_EQ(batch.runs[0].segments, placed);
    EXPECT_TRUE(target_holds(0, placed * uint64_t{kStep}));
    const RxRun& rest = batch.runs[1];
    EXPECT_EQ(rest.payload_at, PayloadAt::kFrame);
    ASSERT_EQ(rest.segments, 5 - placed);
    for (uint32_t s = 0; s < rest.segments; ++s) {
      const std::byte* payload =
          rest.frame + size_t{s} * rest.segment_bytes + transport::kDataHeaderBytes;
      const uint64_t offset = uint64_t{placed + s} * kStep;
      EXPECT_EQ(pattern_mismatch(kPattern, offset, {payload, kStep}), kStep);
    }
    const auto beyond = ends_->target_bytes().subspan(room);
    EXPECT_TRUE(std::all_of(beyond.begin(), beyond.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    ends_->b().release(batch);
  }
}

TEST_F(ReceiverTest, SmallStepsAndSmallPlacesAreNotPredicted) {
  open();
  for (const auto& [step, room] : {std::pair(4'095u, 60'000u), std::pair(kStep, 4'095u)}) {
    ASSERT_TRUE(ends_->send(ends_->row(0, 1, std::min(step, room), 0)));
    Prediction prediction = expecting(0, room);
    prediction.payload_bytes = step;
    RxBatch batch;
    ASSERT_TRUE(ends_->receive(batch, &prediction));
    EXPECT_EQ(batch.runs[0].payload_at, PayloadAt::kFrame);
    ends_->b().release(batch);
  }
}

// A wrong prediction costs an extra copy: after some, predictions are tried less often, and at full
// rate after one was right.
TEST_F(ReceiverTest, WrongPredictionsPausePredictions) {
  open();
  RxBatch batch;
  const auto copied_more = [&](uint64_t expected_offset) {
    const uint64_t before = ends_->b().statistics().payload_copied_bytes;
    EXPECT_TRUE(ends_->send(ends_->row(0, 5, kStep, 0)));
    const Prediction prediction = expecting(expected_offset, 10 * kStep);
    EXPECT_TRUE(ends_->receive(batch, &prediction));
    ends_->b().release(batch);
    while (ends_->b().receive(batch, nullptr) > 0) ends_->b().release(batch);
    return ends_->b().statistics().payload_copied_bytes > before;
  };
  int tried = 0;
  for (int i = 0; i < 100; ++i) tried += copied_more(kStep);
  EXPECT_GE(tried, 3);
  EXPECT_LE(tried, 15);
  const uint64_t placed_before = ends_->b().statistics().payload_placed_bytes;
  for (int i = 0; i < 200; ++i) copied_more(0);
  const uint64_t placed = ends_->b().statistics().payload_placed_bytes - placed_before;
  EXPECT_GE(placed, 100u * 5 * kStep);
}

TEST_F(ReceiverTest, SmallDatagramsOfALongQueueArriveInFewBatches) {
  open();
  make_busy();
  TxBurst small = ends_->row(0, 1, 0);
  for (int i = 0; i < 100; ++i) {
    small.path = static_cast<uint16_t>(i % 4);
    ASSERT_TRUE(ends_->send(small));
  }
  RxBatch batch;
  size_t batches = 0;
  for (uint64_t got = 0; got < 100; ++batches) {
    ASSERT_TRUE(ends_->receive(batch));
    for (size_t i = 0; i < batch.count; ++i) got += batch.runs[i].segments;
    ends_->b().release(batch);
  }
  EXPECT_LE(batches, 3u);
}

TEST_F(ReceiverTest, ADatagramLargerThanItsFrameIsDroppedAndCounted) {
  UdpOptions options = loopback();
  options.mtu_bytes = 1500;
  options.coalescing = Offload::kOff;
  open(options);
  TxBurst large = ends_->row(0, 1, 3'000);
  large.may_fragment = true;
  ASSERT_TRUE(ends_->send(large));
  ASSERT_TRUE(ends_->send(ends_->row(1, 1, 1'000)));
  EXPECT_EQ(ends_->receive_all(1), 1u);
  EXPECT_EQ(ends_->b().statistics().datagrams_received, 1u);
  EXPECT_EQ(ends_->b().statistics().dropped_at_receive, 1u);
}

struct Load {
  uint16_t segments;
  uint32_t payload_bytes;
};

class ReceiveCapacityTest : public testing::TestWithParam<Load> {};

// The advertised capacity fits, also while part of the queue is being read: the kernel releases
// memory late. Below about 500 bytes a datagram costs the kernel far more than its size; see
// udp_datapath.cc.
TEST_P(ReceiveCapacityTest, TheAdvertisedCapacityFits) {
  UdpOptions options = loopback();
  options.receive_buffer = {212'992};
  Result<std::unique_ptr<Ends>> opened = Ends::open(options);
  ASSERT_TRUE(opened.has_value());
  Ends& ends = **opened;
  const uint64_t capacity = ends.b().capabilities().receive_capacity.count;
  const TxBurst row = ends.row(0, GetParam().segments, GetParam().payload_bytes);
  const uint64_t bytes = uint64_t{row.segments} * (row.header_bytes + GetParam().payload_bytes);
  uint64_t queued = 0;
  RxBatch batch;
  for (int round = 0; round < 300; ++round) {
    while (queued + bytes <= capacity) {
      ASSERT_TRUE(ends.send(row));
      queued += bytes;
    }
    ASSERT_EQ(ends.b().statistics().dropped_at_receive, 0u) << "round " << round;
    ASSERT_TRUE(ends.receive(batch));
    for (size_t i = 0; i < batch.count; ++i) {
      const RxRun& run = batch.runs[i];
      queued -= uint64_t{run.segments - 1} * run.segment_bytes + run.last_segment_bytes;
    }
    ends.b().release(batch);
  }
  for (uint64_t sent = 0; sent < 20 * capacity; sent += bytes) ASSERT_TRUE(ends.send(row));
  EXPECT_GT(ends.b().statistics().dropped_at_receive, 0u) << "the queue has no end";
}

INSTANTIATE_TEST_SUITE_P(Loads, ReceiveCapacityTest,
                         testing::Values(Load{1, 472}, Load{1, 1'000}, Load{1, 1'428},
                                         Load{1, 4'100}, Load{1, 8'928}, Load{43, 1'428},
                                         Load{7, 8'928}));

}  // namespace
}  // namespace heddle::datapath
