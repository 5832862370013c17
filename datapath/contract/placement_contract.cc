// The contract of prediction and placement: payload ends where it belongs, with at most one copy,
// whether a prediction was right, wrong, or right for the first segment only.
#include <algorithm>
#include <cstring>
#include <span>

#include "datapath/contract/contract.h"
#include "datapath/regions.h"

namespace heddle::datapath::contract {

using transport::kDataHeaderBytes;
using transport::PayloadAt;
using transport::Placement;
using transport::Prediction;
using transport::RegionId;
using transport::RxRun;

namespace {

constexpr uint32_t kStep = 1'000;  // payload of a full segment
constexpr uint64_t kTargetBytes = 64 * kStep;
constexpr std::byte kUntouched{0xEE};

// A target memory of kTargetBytes with guard bytes on both sides, registered with one datapath.
class Target {
 public:
  explicit Target(Datapath& datapath) : datapath_(datapath), bytes_(kTargetBytes, kUntouched) {
    Result<RegionId> region = datapath.register_memory(bytes_.data(), bytes_.size());
    CHECK(region.has_value());
    region_ = *region;
  }
  ~Target() { datapath_.unregister_memory(region_); }

  RegionId region() const { return region_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // True if [to, to + length) holds the source's bytes from `source` on.
  bool holds(uint64_t to, uint64_t length, uint64_t source) const {
    return pattern_mismatch(kSourcePattern, source, bytes().subspan(to, length)) == length;
  }
  bool untouched(uint64_t from, uint64_t to) const {
    return std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(from),
                       bytes_.begin() + static_cast<ptrdiff_t>(to),
                       [](std::byte byte) { return byte == kUntouched; });
  }

 private:
  Datapath& datapath_;
  Bytestring bytes_;
  RegionId region_ = transport::kNoRegion;
};

// A prediction of burst `tag` with its payload at `offset`. The mask covers only the first eight
// header bytes, like that of a transport that knows neither time stamps nor checksums in advance.
Prediction predict_row(uint64_t tag, RegionId region, uint64_t offset, uint64_t length) {
  Prediction prediction;
  write_header(row_of(tag, 1, kStep, kStep), 0, prediction.header);
  for (uint32_t i = 0; i < 8; ++i) prediction.mask[i] = std::byte{0xff};
  for (uint32_t i = 8; i < kDataHeaderBytes; ++i) prediction.header[i] ^= std::byte{0x55};
  prediction.place = {region, offset, length};
  prediction.payload_bytes = kStep;
  return prediction;
}

const std::byte* header_of(const RxRun& run, uint32_t segment) {
  const size_t step = run.payload_at == PayloadAt::kFrame ? run.step() : kDataHeaderBytes;
  return run.frame + segment * step;
}

// The burst in `tags` to which segment `segment` of the run belongs, and its index there.
struct Identity {
  size_t row = 0;
  uint32_t segment = 0;
  bool known = false;
};

Identity identify(const RxRun& run, uint32_t segment, std::span<const Row> rows) {
  const std::byte* header = header_of(run, segment);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (uint32_t s = 0; s < rows[r].segments; ++s) {
      Bytestring expected(kDataHeaderBytes);
      write_header(rows[r], s, expected);
      if (std::memcmp(header, expected.data(), kDataHeaderBytes) == 0) return {r, s, true};
    }
  }
  return {};
}

// The copy that moves one segment of a run to its place.
Placement placement_of(const RxRun& run, uint32_t segment, RegionId to, uint64_t to_offset) {
  const uint32_t bytes =
      (segment + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes) - kDataHeaderBytes;
  const uint32_t step = run.segment_bytes - kDataHeaderBytes;
  Placement placement;
  placement.payload_at = run.payload_at;
  placement.segments = 1;
  placement.bytes = placement.last_bytes = bytes;
  placement.to_region = to;
  placement.to_offset = to_offset;
  if (run.payload_at == PayloadAt::kFrame) {
    placement.source = run.frame + size_t{segment} * run.step() + kDataHeaderBytes;
    placement.source_step = run.step();
  } else {
    placement.from = {run.place.region, run.place.offset + uint64_t{segment} * step, bytes};
  }
  return placement;
}

// Receives all segments of `rows` at b; burst r belongs at places[r] of the target. Where a run is
// placed, segments that are not yet in their place are copied there. Returns the number of placed
// runs.
size_t deliver(Contract& test, std::span<const Row> rows, std::span<const uint64_t> places,
               const Target& target, const Prediction* prediction) {
  size_t missing = 0;
  for (const Row& row : rows) missing += row.segments;
  size_t placed_runs = 0;
  RxBatch batch;
  while (missing > 0 && test.receive_some(test.b(), batch, prediction)) {
    std::vector<Placement> copies;
    for (size_t i = 0; i < batch.count; ++i) {
      const RxRun& run = batch.runs[i];
      Contract::check_run(test.b(), run);
      placed_runs += run.payload_at == PayloadAt::kPlaced;
      for (uint32_t s = 0; s < run.segments; ++s, --missing) {
        const Identity who = identify(run, s, rows);
        if (!who.known) {
          ADD_FAILURE() << "a header that nobody sent";
          continue;
        }
        const uint64_t belongs = places[who.row] + uint64_t{who.segment} * kStep;
        const Placement copy = placement_of(run, s, target.region(), belongs);
        const bool there = run.payload_at == PayloadAt::kPlaced &&
                           copy.from.region == target.region() && copy.from.offset == belongs;
        if (!there && copy.bytes > 0) copies.push_back(copy);
      }
    }
    test.b().place(copies);
    test.b().release(batch);
    prediction = nullptr;  // a prediction is valid for one receive
  }
  EXPECT_EQ(missing, 0u);
  return placed_runs;
}

}  // namespace

TEST_P(Contract, FramesArePlacedWhereTheyBelong) {
  if (!open()) return;
  Target target(b());
  Row row = row_of(1, 6, kStep, 123);
  row.offset = 4'567;
  send(row);
  const uint64_t place = 2'001;
  EXPECT_EQ(deliver(*this, {&row, 1}, {&place, 1}, target, nullptr), 0u);
  EXPECT_TRUE(target.holds(place, 5 * kStep + 123, row.offset));
  EXPECT_TRUE(target.untouched(0, place));
  EXPECT_TRUE(target.untouched(place + 5 * kStep + 123, kTargetBytes));
}

TEST_P(Contract, ARightPredictionPutsPayloadInPlace) {
  if (!open()) return;
  Target target(b());
  Row row = row_of(1, 6, kStep, 500);
  row.offset = 100;
  const uint64_t place = 3'000;
  const Prediction prediction = predict_row(1, target.region(), place, 6 * kStep);
  send(row);
  const size_t placed = deliver(*this, {&row, 1}, {&place, 1}, target, &prediction);
  EXPECT_EQ(placed > 0, b().capabilities().predicts);
  EXPECT_TRUE(target.holds(place, 5 * kStep + 500, row.offset));
  EXPECT_TRUE(target.untouched(0, place));
  EXPECT_TRUE(target.untouched(place + 6 * kStep, kTargetBytes)) << "beyond what was free";
}

TEST_P(Contract, AHeaderThatDoesNotMatchThePredictionIsDeliveredAsAFrame) {
  if (!open()) return;
  Target target(b());
  const Row row = row_of(1, 6, kStep, 500);
  const uint64_t place = 10'000;
  const Prediction prediction = predict_row(2, target.region(), 3'000, 6 * kStep);
  send(row);
  EXPECT_EQ(deliver(*this, {&row, 1}, {&place, 1}, target, &prediction), 0u);
  EXPECT_TRUE(target.holds(place, 5 * kStep + 500, row.offset));
  EXPECT_TRUE(target.untouched(0, 3'000));
  EXPECT_TRUE(target.untouched(16'000, kTargetBytes));
}

// The first header matches, then segments of other bursts follow: they land behind it and are
// moved.
TEST_P(Contract, SegmentsOfOtherMessagesBehindAPredictedOneAreMoved) {
  if (!open()) return;
  Target target(b());
  std::vector<Row> rows = {row_of(1, 2, kStep, kStep), row_of(2, 3, kStep, kStep),
                           row_of(3, 1, kStep, kStep)};
  for (size_t i = 0; i < rows.size(); ++i) rows[i].offset = 10'000 * i;
  // The second burst belongs where the third lands and vice versa: the copies overlap.
  const std::vector<uint64_t> places = {1'000, 4'000, 3'000};
  const Prediction prediction = predict_row(1, target.region(), 1'000, 6 * kStep);
  send(a(), b(), rows);
  deliver(*this, rows, places, target, &prediction);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(target.holds(places[i], rows[i].total_payload(), rows[i].offset)) << "row " << i;
  }
  EXPECT_TRUE(target.untouched(0, 1'000));
  EXPECT_TRUE(target.untouched(7'000, kTargetBytes));
}

TEST_P(Contract, SegmentsOfAnotherSizeThanPredictedEndInPlace) {
  if (!open()) return;
  for (const uint32_t step : {kStep - 1, kStep + 1, 1u, 300u}) {
    Target target(b());
    Row row = row_of(1, 5, step, step);
    row.offset = 50;
    Prediction prediction = predict_row(1, target.region(), 3'000, 6 * kStep);
    send(row);
    RxBatch batch;
    uint32_t seen = 0;
    while (seen < 5 && receive_some(b(), batch, &prediction)) {
      for (size_t r = 0; r < batch.count; ++r) {
        const RxRun& run = batch.runs[r];
        ASSERT_EQ(run.segment_bytes, step + kDataHeaderBytes);
        std::vector<Placement> copies;
        for (uint32_t s = 0; s < run.segments; ++s) {
          const Identity who = identify(run, s, {&row, 1});
          ASSERT_TRUE(who.known);
          copies.push_back(
              placement_of(run, s, target.region(), 20'000 + uint64_t{who.segment} * step));
        }
        b().place(copies);
        seen += run.segments;
      }
      b().release(batch);
      prediction.place = {target.region(), 30'000, 6 * kStep};
    }
    EXPECT_TRUE(target.holds(20'000, 5 * uint64_t{step}, row.offset)) << "step " << step;
    EXPECT_TRUE(target.untouched(0, 3'000));
    EXPECT_TRUE(target.untouched(9'000, 20'000));
    EXPECT_TRUE(target.untouched(36'000, kTargetBytes));
  }
}

// The place is smaller than the run's payload: nothing may be written behind it.
TEST_P(Contract, NothingIsWrittenBehindASmallPredictedPlace) {
  if (!open()) return;
  for (const uint64_t room : {uint64_t{0}, uint64_t{1}, uint64_t{kStep}, uint64_t{2 * kStep + 1}}) {
    Target target(b());
    const Row row = row_of(1, 6, kStep, kStep);
    const uint64_t place = 20'000;
    const Prediction prediction = predict_row(1, target.region(), 3'000, room);
    send(row);
    deliver(*this, {&row, 1}, {&place, 1}, target, &prediction);
    EXPECT_TRUE(target.holds(place, 6 * kStep, row.offset)) << "room " << room;
    EXPECT_TRUE(target.untouched(0, 3'000));
    EXPECT_TRUE(target.untouched(3'000 + room, place)) << "room " << room;
    EXPECT_TRUE(target.untouched(place + 6 * kStep, kTargetBytes));
  }
}

// Coalescing may append a control datagram to the data segments of its path, as a shorter last one
// or with the same length. It must be delivered completely, with none of it in the predicted place.
TEST_P(Contract, AControlDatagramBehindPredictedSegmentsIsDeliveredWhole) {
  if (!open()) return;
  for (const uint16_t last_payload : {uint16_t{kStep}, uint16_t{200}, uint16_t{3}}) {
    Target target(b());
    Row row = row_of(1, 4, kStep, last_payload);
    row.offset = 500;
    row.control_from = 3;
    const Bytestring control = datagrams_of(row)[3];
    const uint64_t place = 3'000;
    const Prediction prediction = predict_row(1, target.region(), place, 6 * kStep);
    send(row);
    RxBatch batch;
    uint32_t seen = 0;
    bool whole = false;
    while (seen < 4 && receive_some(b(), batch, &prediction)) {
      for (size_t r = 0; r < batch.count; ++r) {
        const RxRun& run = batch.runs[r];
        seen += run.segments;
        if (seen < 4) continue;
        ASSERT_EQ(run.payload_at, PayloadAt::kFrame) << "last payload " << last_payload;
        const std::byte* start = run.frame + size_t{run.segments - 1} * run.step();
        whole = Bytestring(start, start + run.last_segment_bytes) == control;
      }
      b().release(batch);
    }
    EXPECT_TRUE(whole) << "last payload " << last_payload;
  }
}

// A prediction must not consume control datagrams.
TEST_P(Contract, ControlDatagramsUnderAPredictionAreDeliveredWhole) {
  if (!open()) return;
  Target target(b());
  std::vector<Row> rows;
  for (const uint16_t bytes : {8, 200, 40, 1'000, 39}) {
    rows.push_back(row_of(10u + bytes, 1, 0, 0));
    rows.back().header_bytes = bytes;
  }
  send(a(), b(), rows);
  const Prediction prediction = predict_row(1, target.region(), 3'000, 6 * kStep);
  std::vector<Bytestring> got;
  RxBatch batch;
  while (got.size() < rows.size() && receive_some(b(), batch, &prediction)) {
    for (size_t r = 0; r < batch.count; ++r) {
      const RxRun& run = batch.runs[r];
      ASSERT_EQ(run.payload_at, PayloadAt::kFrame);
      for (uint32_t s = 0; s < run.segments; ++s) {
        const std::byte* start = run.frame + size_t{s} * run.step();
        got.emplace_back(
            start, start + (s + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes));
      }
    }
    b().release(batch);
  }
  ASSERT_EQ(got.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(got[i], datagrams_of(rows[i])[0]);
}

}  // namespace heddle::datapath::contract
