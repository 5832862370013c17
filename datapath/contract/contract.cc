// The fixture of the contract suite: sends bursts, receives datagrams.
#include "datapath/contract/contract.h"

#include <algorithm>
#include <utility>

#include "datapath/regions.h"

namespace heddle::datapath::contract {

using transport::PayloadAt;
using transport::Prediction;
using transport::RegionId;
using transport::RxRun;
using transport::TxBurst;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Contract);

namespace {

uint32_t payload_of_segment(const Row& row, uint32_t segment) {
  return segment + 1 == row.segments ? row.last_payload_bytes : row.payload_bytes;
}

TxBurst burst_of(const Row& row, const std::byte* headers, const transport::Address& to,
                 RegionId region) {
  TxBurst burst;
  burst.to = to;
  burst.path = row.path;
  burst.segments = row.segments;
  burst.header_bytes = row.header_bytes;
  burst.ecn_capable = row.ecn_capable;
  burst.headers = headers;
  burst.payload_bytes = row.payload_bytes;
  burst.last_payload_bytes = row.last_payload_bytes;
  burst.region = row.payload_bytes > 0 ? region : transport::kNoRegion;
  burst.offset = row.offset;
  burst.key = row.key;
  return burst;
}

}  // namespace

void write_header(const Row& row, uint32_t segment, std::span<std::byte> to) {
  constexpr std::byte kData{0x21};
  constexpr std::byte kControl{0x29};
  constexpr std::byte kEncryptedData{0x18};  // the length of the clear part depends on the type
  fill_pattern(row.tag, uint64_t{segment} * row.header_bytes, to);
  if (!to.empty()) to[0] = segment < row.control_from ? kData : kControl;
  if (row.key != nullptr) to[0] = kEncryptedData;
}

Row row_of(uint64_t tag, uint16_t segments, uint32_t payload_bytes, uint32_t last_payload_bytes) {
  Row row;
  row.tag = tag;
  row.segments = segments;
  row.payload_bytes = payload_bytes;
  row.last_payload_bytes = last_payload_bytes;
  return row;
}

std::vector<Bytestring> datagrams_of(const Row& row) {
  std::vector<Bytestring> out;
  for (uint32_t i = 0; i < row.segments; ++i) {
    const uint32_t payload = payload_of_segment(row, i);
    Bytestring bytes(row.header_bytes + payload);
    write_header(row, i, std::span(bytes).first(row.header_bytes));
    fill_pattern(kSourcePattern, row.offset + uint64_t{i} * row.payload_bytes,
                 std::span(bytes).subspan(row.header_bytes));
    out.push_back(std::move(bytes));
  }
  return out;
}

size_t bytes_of(const Row& row) {
  return size_t{row.segments} * row.header_bytes + (row.segments - 1u) * row.payload_bytes +
         row.last_payload_bytes;
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) { return info.param.name; }

bool Contract::open(const PairOptions& options) {
  Result<std::unique_ptr<Pair>> made = GetParam().make(options);
  if (!made) {
    [&] { GTEST_SKIP() << made.error().message(); }();
    return false;
  }
  pair_ = std::move(made).value();
  source_.resize(kSourceBytes);
  fill_pattern(kSourcePattern, 0, source_);
  const Result<RegionId> at_a = a().register_memory(source_.data(), source_.size());
  const Result<RegionId> at_b = b().register_memory(source_.data(), source_.size());
  if (!at_a || !at_b) {
    ADD_FAILURE() << "memory cannot be registered";
    return false;
  }
  region_a_ = *at_a;
  region_b_ = *at_b;
  return true;
}

uint32_t Contract::full_payload() {
  const uint32_t largest = a().capabilities().max_datagram_bytes - transport::kDataHeaderBytes;
  return std::min<uint32_t>(largest, 8'000);
}

RegionId Contract::source_at(Datapath& datapath) {
  return &datapath == &a() ? region_a_ : region_b_;
}

void Contract::send(Datapath& from, Datapath& to, std::span<const Row> rows) {
  size_t header_bytes = 0;
  for (const Row& row : rows) header_bytes += size_t{row.segments} * row.header_bytes;
  Bytestring headers(header_bytes);
  std::vector<TxBurst> bursts;
  std::byte* next = headers.data();
  for (const Row& row : rows) {
    const size_t bytes = size_t{row.segments} * row.header_bytes;
    for (uint32_t i = 0; i < row.segments; ++i) {
      write_header(row, i, {next + size_t{i} * row.header_bytes, row.header_bytes});
    }
    bursts.push_back(burst_of(row, next, to.local_address(), source_at(from)));
    next += bytes;
  }
  std::span<const TxBurst> rest = bursts;
  const Nanos give_up = from.now() + kPatience;
  while (!rest.empty()) {
    const size_t taken = from.transmit(rest);
    ASSERT_LE(taken, rest.size());
    if (taken < rest.size()) {
      ASSERT_LT(from.now(), give_up) << "the network takes nothing";
      pair().wait_for(from, millis(10));
    }
    rest = rest.subspan(taken);
  }
  std::fill(headers.begin(), headers.end(), std::byte{0xdd});
}

void Contract::send_headers(Datapath& from, Datapath& to, std::span<const std::byte> headers,
                            uint16_t bytes, uint32_t connection) {
  TxBurst burst;
  burst.to = to.local_address();
  burst.connection = connection;
  burst.segments = static_cast<uint16_t>(headers.size() / bytes);
  burst.header_bytes = bytes;
  burst.headers = headers.data();
  const Nanos give_up = from.now() + kPatience;
  while (from.transmit({&burst, 1}) == 0) {
    ASSERT_LT(from.now(), give_up) << "the network takes nothing";
    pair().wait_for(from, millis(10));
  }
}

bool Contract::receive_some(Datapath& at, RxBatch& batch, const Prediction* prediction) {
  const Nanos give_up = at.now() + kPatience;
  while (at.receive(batch, prediction) == 0) {
    EXPECT_EQ(batch.count, 0u);
    if (at.now() >= give_up) return false;
    pair().wait_for(at, millis(100));
  }
  return true;
}

void Contract::check_run(Datapath& at, const RxRun& run) {
  EXPECT_GE(run.segments, 1u);
  EXPECT_TRUE(run.segments == 1 || at.capabilities().receives_runs);
  EXPECT_GE(run.segment_bytes, 1u);
  EXPECT_GE(run.last_segment_bytes, 1u);
  EXPECT_LE(run.last_segment_bytes, run.segment_bytes);
  EXPECT_TRUE(run.segments > 1 || run.last_segment_bytes == run.segment_bytes);
  EXPECT_NE(run.frame, nullptr);
  EXPECT_LE(run.received_at, at.now());
}

std::vector<Datagram> Contract::collect(Datapath& at, size_t count) {
  std::vector<Datagram> out;
  RxBatch batch;
  while (out.size() < count && receive_some(at, batch)) {
    EXPECT_LE(batch.count, RxBatch::kMaxRuns);
    for (size_t r = 0; r < batch.count; ++r) {
      const RxRun& run = batch.runs[r];
      check_run(at, run);
      EXPECT_EQ(run.payload_at, PayloadAt::kFrame) << "nothing was predicted";
      for (uint32_t i = 0; i < run.segments; ++i) {
        const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
        const std::byte* start = run.frame + size_t{i} * run.step();
        out.push_back({run.from, run.ecn, run.received_at, Bytestring(start, start + bytes)});
      }
    }
    at.release(batch);
  }
  return out;
}

void Contract::expect_delivery(std::span<const Row> rows) {
  send(a(), b(), rows);
  std::vector<Bytestring> expected;
  for (const Row& row : rows) {
    for (Bytestring& bytes : datagrams_of(row)) expected.push_back(std::move(bytes));
  }
  const std::vector<Datagram> got = collect(b(), expected.size());
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].bytes.size(), expected[i].size()) << "datagram " << i;
    ASSERT_TRUE(got[i].bytes == expected[i]) << "datagram " << i << " has wrong bytes";
    EXPECT_EQ(got[i].from.host, a().local_address().host);
  }
}

}  // namespace heddle::datapath::contract
