// The contract of transmit(): bursts are split, gathered and delivered in order, byte for byte.
#include <algorithm>
#include <array>
#include <map>

#include "base/random.h"
#include "datapath/contract/contract.h"
#include "datapath/regions.h"

namespace heddle::datapath::contract {

TEST_P(Contract, OneDatagramWithHeaderAndPayloadArrives) {
  if (!open()) return;
  Row row = row_of(1, 1, 1'000, 1'000);
  row.offset = 12'345;
  expect_delivery({&row, 1});
}

TEST_P(Contract, TheLargestDatagramArrives) {
  if (!open()) return;
  const uint32_t payload =
      std::min(a().capabilities().max_datagram_bytes, transport::kMaxBurstBytes) -
      transport::kDataHeaderBytes;
  const Row row = row_of(1, 1, payload, payload);
  expect_delivery({&row, 1});
}

TEST_P(Contract, ControlDatagramsWithoutPayloadArrive) {
  if (!open()) return;
  std::vector<Row> rows;
  for (uint16_t bytes : {1, 8, 39, 40, 41, 200, 1'000}) {
    Row row = row_of(100u + bytes, 1, 0, 0);
    row.header_bytes = bytes;
    rows.push_back(row);
  }
  expect_delivery(rows);
}

TEST_P(Contract, ABurstWithoutPayloadArrives) {
  if (!open()) return;
  const Row row = row_of(7, 5, 0, 0);
  expect_delivery({&row, 1});
}

TEST_P(Contract, ABurstWithAShorterLastSegmentArrives) {
  if (!open()) return;
  for (const uint32_t last : {full_payload(), full_payload() - 1, 1u}) {
    const Row row = row_of(last, 4, full_payload(), last);
    expect_delivery({&row, 1});
  }
}

TEST_P(Contract, TheLongestBurstArrives) {
  if (!open()) return;
  Row row = row_of(3, transport::kMaxBurstSegments, 900, 17);
  // ends at the last byte
  row.offset = kSourceBytes - (transport::kMaxBurstSegments - 1) * 900 - 17;
  expect_delivery({&row, 1});
}

TEST_P(Contract, ABatchKeepsTheOrderWithinAPath) {
  if (!open()) return;
  std::vector<Row> rows;
  for (uint64_t i = 0; i < transport::TxBatch::kMaxBursts; ++i) {
    Row row = row_of(i, 1 + i % 3, 100 + 10 * static_cast<uint32_t>(i), 50);
    if (row.segments == 1) row.last_payload_bytes = row.payload_bytes;
    row.offset = i * 5'000;
    rows.push_back(row);
  }
  expect_delivery(rows);
}

// Every shape of burst, small and large, from random positions of the source.
TEST_P(Contract, RandomBurstsArriveByteForByte) {
  if (!open()) return;
  Random random(42);
  for (int round = 0; round < 60; ++round) {
    const auto segments = static_cast<uint16_t>(1 + random.below(6));
    const uint32_t payload = static_cast<uint32_t>(1 + random.below(full_payload()));
    const uint32_t last =
        segments == 1 ? payload : static_cast<uint32_t>(1 + random.below(payload));
    Row row = row_of(random.next(), segments, payload, last);
    row.path = static_cast<uint16_t>(random.below(a().capabilities().max_paths));
    row.header_bytes = static_cast<uint16_t>(transport::kDataHeaderBytes);
    row.offset = random.below(kSourceBytes - 6 * uint64_t{payload});
    expect_delivery({&row, 1});
    if (HasFatalFailure()) return;
  }
}

// A burst with a key leaves encrypted and authenticated, as one call or segment by segment. The
// receiver can decrypt it in place, and no payload is readable on the wire.
TEST_P(Contract, BurstsWithAKeyArriveEncrypted) {
  if (!open()) return;
  const std::array<std::byte, transport::PacketKey::kKeyBytes> key{std::byte{5}};
  const std::array<std::byte, transport::PacketKey::kIvBytes> iv{std::byte{6}};
  transport::PacketKey encryptor(key, iv, transport::PacketKey::Use::kEncrypt);
  transport::PacketKey decryptor(key, iv, transport::PacketKey::Use::kDecrypt);
  const uint32_t full = full_payload() - transport::kTagBytes;
  std::vector<Row> rows = {row_of(1, 5, full, 33), row_of(2, 1, 1, 1), row_of(3, 3, 0, 0),
                           row_of(4, 40, 500, 500)};
  for (Row& row : rows) row.key = &encryptor;
  rows.push_back(row_of(5, 2, 100, 50));  // a burst in the clear between them
  for (const Row& row : rows) {
    const std::vector<Bytestring> expected = datagrams_of(row);
    send(row);
    std::vector<Datagram> arrived = collect(b(), expected.size());
    ASSERT_EQ(arrived.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      Bytestring& bytes = arrived[i].bytes;
      if (row.key != nullptr) {
        ASSERT_EQ(bytes.size(), expected[i].size() + transport::kTagBytes);
        EXPECT_FALSE(expected[i].size() > row.header_bytes + 16u &&
                     std::equal(expected[i].begin(), expected[i].end(), bytes.begin()));
        ASSERT_TRUE(transport::decrypt_segment(decryptor, bytes)) << "segment " << i;
        bytes.resize(expected[i].size());
      }
      EXPECT_EQ(bytes, expected[i]) << "segment " << i << " of row " << row.tag;
    }
  }
}

TEST_P(Contract, EachPathHasItsOwnSource) {
  if (!open()) return;
  const uint16_t paths = std::min<uint16_t>(a().capabilities().max_paths, 16);
  if (paths < 2) GTEST_SKIP() << "this network has one path only";
  std::vector<Row> rows;
  for (uint16_t i = 0; i < 2 * paths; ++i) {
    Row row = row_of(i, 2, 200, 200);
    row.path = i % paths;
    rows.push_back(row);
  }
  send(a(), b(), rows);
  std::map<transport::Address, std::vector<Bytestring>> by_source;
  for (Datagram& datagram : collect(b(), 4u * paths)) {
    EXPECT_EQ(datagram.from.host, a().local_address().host);
    by_source[datagram.from].push_back(std::move(datagram.bytes));
  }
  EXPECT_EQ(by_source.size(), paths) << "one source a path";
  for (uint16_t path = 0; path < paths; ++path) {
    std::vector<Bytestring> expected = datagrams_of(rows[path]);
    for (Bytestring& bytes : datagrams_of(rows[path + paths])) expected.push_back(bytes);
    EXPECT_TRUE(std::any_of(by_source.begin(), by_source.end(),
                            [&](const auto& entry) {
                              const uint16_t port = a().source_port(path, 0);
                              return entry.second == expected &&
                                     (port == 0 || port == entry.first.port);
                            }))
        << "path " << path << " lost, mixed or reordered its datagrams";
  }
}

TEST_P(Contract, BothDirectionsAtOnceDeliver) {
  if (!open()) return;
  const Row there = row_of(1, 3, 700, 10);
  Row back = row_of(2, 2, 900, 900);
  back.offset = 77;
  send(a(), b(), {&there, 1});
  send(b(), a(), {&back, 1});
  const auto at_b = collect(b(), 3);
  const auto at_a = collect(a(), 2);
  ASSERT_EQ(at_b.size(), 3u);
  ASSERT_EQ(at_a.size(), 2u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(at_b[i].bytes, datagrams_of(there)[i]);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(at_a[i].bytes, datagrams_of(back)[i]);
  EXPECT_EQ(at_a[0].from.host, b().local_address().host);
}

// Unregistering a region must not affect others, and its id may be reused.
TEST_P(Contract, UnregisteringARegionDoesNotAffectOthers) {
  if (!open()) return;
  Bytestring other(10'000);
  fill_pattern(99, 0, other);
  const auto first = a().register_memory(other.data(), 5'000);
  const auto second = a().register_memory(other.data() + 5'000, 5'000);
  ASSERT_TRUE(first && second);
  a().unregister_memory(*first);
  Bytestring header(transport::kDataHeaderBytes);
  transport::TxBurst burst;
  burst.to = b().local_address();
  burst.segments = 1;
  burst.header_bytes = transport::kDataHeaderBytes;
  burst.headers = header.data();
  burst.payload_bytes = burst.last_payload_bytes = 1'000;
  burst.region = *second;
  burst.offset = 500;
  ASSERT_EQ(a().transmit({&burst, 1}), 1u);
  const auto got = collect(b(), 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(pattern_mismatch(99, 5'500, std::span(got[0].bytes).subspan(header.size())), 1'000u);
  a().unregister_memory(*second);
  const Row row = row_of(5, 2, 800, 800);
  expect_delivery({&row, 1});
}

// Data on the wire is what memory held when transmit() accepted the burst, or when the operation
// ended; never later contents.
TEST_P(Contract, HeadersMayBeOverwrittenOnceAccepted) {
  if (!open()) return;
  std::vector<Row> rows;
  for (uint64_t i = 0; i < 8; ++i) rows.push_back(row_of(i, 4, 600, 600));
  expect_delivery(rows);  // send() overwrites the headers before anything is received
}

TEST_P(Contract, StatisticsCountDatagrams) {
  if (!open()) return;
  const uint64_t sent = a().statistics().datagrams_sent;
  const uint64_t received = b().statistics().datagrams_received;
  std::vector<Row> rows = {row_of(1, 5, 300, 200), row_of(2, 1, 10, 10)};
  expect_delivery(rows);
  EXPECT_EQ(a().statistics().datagrams_sent - sent, 6u);
  EXPECT_EQ(b().statistics().datagrams_received - received, 6u);
}

}  // namespace heddle::datapath::contract
