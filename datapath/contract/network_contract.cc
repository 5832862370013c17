// The contract of everything except data: back-pressure, waiting and waking, reported errors.
#include <algorithm>
#include <thread>

#include "datapath/contract/contract.h"

namespace heddle::datapath::contract {

using transport::NetworkError;
using transport::NetworkErrorKind;
using transport::TxBurst;

namespace {

TxBurst datagram_to(const transport::Address& to, const Bytestring& header) {
  TxBurst burst;
  burst.to = to;
  burst.segments = 1;
  burst.header_bytes = static_cast<uint16_t>(header.size());
  burst.headers = header.data();
  return burst;
}

bool wait_for_error(Contract& test, Datapath& datapath, NetworkError& error) {
  const Nanos give_up = datapath.now() + kPatience;
  RxBatch batch;
  while (!datapath.poll_error(error)) {
    if (datapath.now() >= give_up) return false;
    test.pair().wait_for(datapath, millis(10));
    datapath.receive(batch, nullptr);
    datapath.release(batch);
  }
  return true;
}

}  // namespace

// Offers far more than any queue between the two ends holds, in large batches, and retries refused
// bursts. While the receiver keeps up, every datagram arrives once and in order.
TEST_P(Contract, ALargeBatchPushesBackAndLosesNothing) {
  if (!open()) return;
  const uint32_t payload = std::min(full_payload(), 1'400u);
  const uint64_t capacity = b().capabilities().receive_capacity.count;
  const uint64_t held = std::min<uint64_t>(capacity / (payload + transport::kDataHeaderBytes),
                                           pair().wire_datagrams());
  const size_t window = std::max<size_t>(1, held / 2 / 4);
  constexpr size_t kRows = 1'500;
  std::vector<Row> rows;
  for (size_t i = 0; i < kRows; ++i) {
    rows.push_back(row_of(i, 4, payload, payload));
    rows.back().offset = i * 97;
  }
  size_t received = 0;
  for (size_t next = 0; next < kRows;) {
    const size_t count = std::min(window, kRows - next);
    send(a(), b(), std::span(rows).subspan(next, count));
    const auto got = collect(b(), 4 * count);
    ASSERT_EQ(got.size(), 4 * count);
    for (size_t i = 0; i < got.size(); ++i) {
      const size_t at = next + i / 4;
      ASSERT_EQ(got[i].bytes, datagrams_of(rows[at])[i % 4]) << "row " << at;
    }
    received += got.size();
    next += count;
  }
  EXPECT_EQ(received, 4 * kRows);
  EXPECT_EQ(b().statistics().dropped_at_receive, 0u);
}

TEST_P(Contract, ADatagramToAClosedPortIsReportedWhereTheNetworkReportsIt) {
  if (!open()) return;
  const Bytestring header(40);
  TxBurst burst = datagram_to(pair().nobody(), header);
  burst.path = a().capabilities().max_paths - 1u;
  ASSERT_EQ(a().transmit({&burst, 1}), 1u);
  if (!pair().reports_refused()) GTEST_SKIP() << "this network does not report it";
  NetworkError error;
  ASSERT_TRUE(wait_for_error(*this, a(), error));
  EXPECT_EQ(error.kind, NetworkErrorKind::kRefused);
  EXPECT_EQ(error.to, burst.to);
  EXPECT_EQ(error.path, burst.path);
}

// An error for one destination must not block traffic to others.
TEST_P(Contract, AfterAnErrorOtherDestinationsAreReached) {
  if (!open()) return;
  const Bytestring header(40);
  for (int i = 0; i < 3; ++i) {
    const TxBurst burst = datagram_to(pair().nobody(), header);
    ASSERT_EQ(a().transmit({&burst, 1}), 1u);
    pair().wait_for(a(), millis(1));
    const Row row = row_of(static_cast<uint64_t>(i), 3, 500, 100);
    expect_delivery({&row, 1});
  }
}

TEST_P(Contract, ATooLargeDatagramCountsAsAcceptedAndIsReported) {
  if (!open()) return;
  const uint32_t limit = a().capabilities().max_datagram_bytes;
  if (limit >= transport::kMaxBurstBytes) GTEST_SKIP() << "no burst is too large for this network";
  const Bytestring header(transport::kDataHeaderBytes);
  TxBurst burst = datagram_to(b().local_address(), header);
  burst.payload_bytes = burst.last_payload_bytes = limit + 1 - transport::kDataHeaderBytes;
  burst.region = source_at(a());
  const uint64_t sent_before = a().statistics().datagrams_sent;
  ASSERT_EQ(a().transmit({&burst, 1}), 1u);
  EXPECT_EQ(a().unsent(0) + a().statistics().datagrams_sent - sent_before, 1u);
  NetworkError error;
  ASSERT_TRUE(wait_for_error(*this, a(), error));
  EXPECT_EQ(error.kind, NetworkErrorKind::kTooLarge);
  EXPECT_EQ(error.to, burst.to);
  EXPECT_LE(error.limit_bytes, limit);
  EXPECT_GT(error.limit_bytes, 0u);
  const Row row = row_of(1, 2, 500, 500);
  expect_delivery({&row, 1});
}

TEST_P(Contract, AWakeBeforeTheWaitEndsIt) {
  if (!open()) return;
  const Nanos before = b().now();
  b().wake();
  b().wait(before + seconds(30));
  EXPECT_LT(b().now(), before + seconds(20));
}

TEST_P(Contract, AWakeFromAnotherThreadEndsAWait) {
  if (!open()) return;
  if (!pair().waits_block()) GTEST_SKIP() << "nothing blocks in this network";
  const Nanos before = b().now();
  std::thread other([this] { b().wake(); });
  b().wait(before + seconds(30));
  other.join();
  EXPECT_LT(b().now(), before + seconds(20));
}

TEST_P(Contract, AnArrivalEndsAWait) {
  if (!open()) return;
  const Nanos before = b().now();
  send(row_of(1, 1, 100, 100));
  RxBatch batch;
  size_t runs = 0;
  for (int waits = 0; runs == 0 && waits < 100; ++waits) {
    b().wait(before + seconds(30));
    runs = b().receive(batch, nullptr);
    b().release(batch);
  }
  EXPECT_EQ(runs, 1u);
  EXPECT_LT(b().now(), before + seconds(20));
}

TEST_P(Contract, AWaitWithoutEventsEndsAtItsTime) {
  if (!open()) return;
  const Nanos until = b().now() + millis(2);
  while (b().now() < until) b().wait(until);
  EXPECT_GE(b().now(), until);
  b().wait(until - millis(5));  // a time in the past: returns at once
}

}  // namespace heddle::datapath::contract
