// The contract of receive(): frames are lent until released; ECN marks and receive times come with
// them.
#include <algorithm>
#include <span>

#include "datapath/contract/contract.h"
#include "datapath/regions.h"

namespace heddle::datapath::contract {

using transport::Ecn;
using transport::RxRun;

namespace {

std::vector<Bytestring> whole_datagrams(const RxBatch& batch) {
  std::vector<Bytestring> out;
  for (size_t r = 0; r < batch.count; ++r) {
    const RxRun& run = batch.runs[r];
    for (uint32_t i = 0; i < run.segments; ++i) {
      const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
      const std::byte* start = run.frame + size_t{i} * run.step();
      out.emplace_back(start, start + bytes);
    }
  }
  return out;
}

// Runs as no datapath leaves them.
void spoil(RxBatch& batch) {
  for (RxRun& run : batch.runs) {
    run = {};
    run.from.host.fill(0xee);
    run.payload_at = transport::PayloadAt::kPlaced;
    run.nic = 7;
    run.segments = run.segment_bytes = run.last_segment_bytes = 9;
    run.frame_step = 1;
    run.trimmed = run.opened = true;
    run.header_bytes = 3;
    run.place = {5, 6, 7};
  }
}

// Like those of forward error correction, which a datapath with it may take out of runs.
constexpr std::byte kOddType{0x2b};
constexpr uint16_t kOddBytes = 37;

// Received datagrams but those of kOddType, each whole, until `count` of them have arrived.
std::vector<Bytestring> all_but_odd(Contract& test, RxBatch& batch, size_t count) {
  std::vector<Bytestring> seen;
  while (seen.size() < count && test.receive_some(test.b(), batch)) {
    for (Bytestring& each : whole_datagrams(batch)) {
      if (each[0] != kOddType) seen.push_back(std::move(each));
    }
    test.b().release(batch);
  }
  return seen;
}

}  // namespace

TEST_P(Contract, ReceiveSetsEveryFieldOfARunWhateverTheBatchHeld) {
  if (!open()) return;
  for (const uint16_t segments : {1, 4}) {
    const Row row = row_of(segments, segments, 800, 300);
    send(row);
    RxBatch batch;
    std::vector<Bytestring> seen;
    while (seen.size() < segments) {
      spoil(batch);
      ASSERT_TRUE(receive_some(b(), batch));
      for (size_t i = 0; i < batch.count; ++i) {
        const RxRun& run = batch.runs[i];
        EXPECT_EQ(run.from.host, a().local_address().host);
        EXPECT_EQ(run.payload_at, transport::PayloadAt::kFrame);
        EXPECT_EQ(run.nic, 0);
        EXPECT_TRUE(run.frame_step == 0 || run.frame_step >= run.segment_bytes) << run.frame_step;
        EXPECT_FALSE(run.trimmed || run.opened);
        EXPECT_EQ(run.header_bytes, transport::kDataHeaderBytes);
        EXPECT_EQ(run.place.length, 0u);
      }
      for (Bytestring& each : whole_datagrams(batch)) seen.push_back(std::move(each));
      b().release(batch);
    }
    EXPECT_EQ(seen, datagrams_of(row));
  }
}

// A stranger's datagrams must not change how later runs in the same batch are read.
TEST_P(Contract, OddDatagramsLeaveNothingInTheBatchForTheNextRow) {
  if (!open()) return;
  // Both have sent something of a connection: forward error correction takes part.
  const Bytestring hello(kOddBytes, std::byte{0x29});
  RxBatch batch;
  for (int times = 0; times < 2; ++times) {
    send_headers(a(), b(), hello, kOddBytes, 1);
    send_headers(b(), a(), hello, kOddBytes, 1);
    for (Datapath* each : {&a(), &b()}) {
      ASSERT_TRUE(receive_some(*each, batch));
      each->release(batch);
    }
  }
  for (uint16_t odd = 1; odd < 6; ++odd) {
    Bytestring headers(size_t{6} * kOddBytes, std::byte{0x29});
    for (uint32_t i = 0; i < odd; ++i) headers[size_t{i} * kOddBytes] = kOddType;
    send_headers(a(), b(), headers, kOddBytes, 0);
    const auto few = all_but_odd(*this, batch, 6u - odd);
    EXPECT_EQ(few, std::vector<Bytestring>(6u - odd, hello));
    const Row row = row_of(odd, 40, 1'000, 1'000);
    send(row);
    const auto seen = all_but_odd(*this, batch, 40);
    ASSERT_EQ(seen.size(), 40u);
    for (size_t i = 0; i < 40; ++i) ASSERT_EQ(seen[i], datagrams_of(row)[i]) << i << ' ' << odd;
  }
}

TEST_P(Contract, ReceiveWithoutInputReturnsAnEmptyBatch) {
  if (!open()) return;
  RxBatch batch;
  batch.count = 17;
  EXPECT_EQ(b().receive(batch, nullptr), 0u);
  EXPECT_EQ(batch.count, 0u);
  b().release(batch);
  transport::NetworkError error;
  EXPECT_FALSE(b().poll_error(error));
}

TEST_P(Contract, LentFramesStayUnchangedUntilReleased) {
  if (!open()) return;
  const Row first = row_of(1, 4, 800, 300);
  send(first);
  RxBatch batch;
  ASSERT_TRUE(receive_some(b(), batch));
  const std::vector<Bytestring> before = whole_datagrams(batch);
  std::vector<Row> later;
  for (uint64_t i = 0; i < 16; ++i) later.push_back(row_of(100 + i, 4, 800, 300));
  send(a(), b(), later);
  pair().wait_for(b(), millis(1));
  EXPECT_EQ(whole_datagrams(batch), before);
  b().release(batch);
  EXPECT_EQ(collect(b(), 4 + 64 - before.size()).size(), 4 + 64 - before.size());
}

TEST_P(Contract, MoreRunsThanABatchHoldsAllArrive) {
  if (!open()) return;
  std::vector<Row> rows;
  const uint16_t paths = a().capabilities().max_paths;
  for (uint64_t i = 0; i < 3 * RxBatch::kMaxRuns; ++i) {
    Row row = row_of(i, 1, 60 + static_cast<uint32_t>(i), 0);
    row.last_payload_bytes = row.payload_bytes;
    rows.push_back(row);
  }
  if (paths > 1) rows.back().path = 1;
  send(a(), b(), rows);
  auto got = collect(b(), rows.size());
  ASSERT_EQ(got.size(), rows.size());
  // The other path has no order with the first one: a NIC may receive it in another queue.
  const auto other = std::find_if(got.begin(), got.end(), [&](const Datagram& each) {
    return each.bytes.size() == transport::kDataHeaderBytes + 60 + rows.size() - 1;
  });
  ASSERT_NE(other, got.end());
  got.erase(other);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].bytes.size(), transport::kDataHeaderBytes + 60 + i);
  }
}

TEST_P(Contract, NothingArrivesTwice) {
  if (!open()) return;
  send(row_of(1, 6, 500, 500));
  send(row_of(2, 1, 0, 0));  // the last of its path: no segment of the first burst can follow
  const auto got = collect(b(), 7);
  ASSERT_EQ(got.size(), 7u);
  EXPECT_EQ(got.back().bytes, datagrams_of(row_of(2, 1, 0, 0))[0]);
  RxBatch batch;
  EXPECT_EQ(b().receive(batch, nullptr), 0u);
  b().release(batch);
}

TEST_P(Contract, ReceiveTimesAreBetweenSendingAndNow) {
  if (!open()) return;
  const Nanos before = b().now();
  Nanos latest = before;
  for (uint64_t i = 0; i < 5; ++i) {
    send(row_of(i, 1, 100, 100));
    const auto got = collect(b(), 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_GE(got[0].received_at, latest) << "time went backwards";
    latest = got[0].received_at;
    EXPECT_LE(latest, b().now());
  }
}

TEST_P(Contract, EcnCapableDatagramsArriveEcnCapable) {
  if (!open()) return;
  if (!a().capabilities().ecn) GTEST_SKIP() << "this network does not report ECN";
  std::vector<Row> rows;
  for (uint64_t i = 0; i < 8; ++i) {
    rows.push_back(row_of(i, 2, 300, 300));
    rows.back().ecn_capable = i % 2 == 1;
  }
  send(a(), b(), rows);
  const auto got = collect(b(), 16);
  ASSERT_EQ(got.size(), 16u);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].ecn, i / 2 % 2 == 1 ? Ecn::kEct0 : Ecn::kNotCapable) << "datagram " << i;
  }
}

TEST_P(Contract, CongestionMarksReachTheReceiver) {
  if (!open({.mark_congestion = true})) return;
  if (!a().capabilities().ecn) GTEST_SKIP() << "this network does not report ECN";
  Row capable = row_of(1, 3, 300, 300);
  capable.ecn_capable = true;
  const Row not_capable = row_of(2, 1, 300, 300);
  const std::vector<Row> rows = {capable, not_capable};
  send(a(), b(), rows);
  const auto got = collect(b(), 4);
  ASSERT_EQ(got.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i].ecn, Ecn::kCongestion);
  EXPECT_EQ(got[3].ecn, Ecn::kNotCapable);
}

TEST_P(Contract, CapabilitiesMakeSense) {
  if (!open()) return;
  for (Datapath* datapath : {&a(), &b()}) {
    const Capabilities& can = datapath->capabilities();
    EXPECT_GE(can.max_datagram_bytes, 1'200u);
    EXPECT_LE(can.max_datagram_bytes, 65'507u);
    EXPECT_GE(can.max_paths, 1u);
    EXPECT_LE(can.max_paths, 256u);
    EXPECT_GE(can.max_burst_segments, 1u);
    EXPECT_GE(can.receive_capacity.count, 64u << 10);
  }
  EXPECT_NE(a().local_address(), b().local_address());
}

}  // namespace heddle::datapath::contract
