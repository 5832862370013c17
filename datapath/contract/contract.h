// Contract: the suite that every implementation of datapath/datapath.h passes, as a GoogleTest
// fixture with a Variant as its parameter. The tests are in *_contract.cc in this folder. They send
// bursts (Row) of datagrams with known bytes from a to b and check every received byte.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/contract/pair.h"
#include "datapath/datapath.h"
#include "transport/rx_run.h"
#include "transport/tx_batch.h"

namespace heddle::datapath::contract {

using Bytestring = std::vector<std::byte>;

// A burst as a test describes it. Its headers are the bytes of pattern `tag`. Its payload is at
// `offset` of the source memory, which holds pattern kSourcePattern.
struct Row {
  uint64_t tag = 0;
  uint16_t path = 0;
  uint16_t segments = 1;
  uint16_t header_bytes = transport::kDataHeaderBytes;
  uint32_t payload_bytes = 0;
  uint32_t last_payload_bytes = 0;
  uint64_t offset = 0;
  bool ecn_capable = false;
  uint32_t control_from = UINT32_MAX;   // segments from this one on are control segments
  transport::PacketKey* key = nullptr;  // encrypts each segment

  uint64_t total_payload() const {
    return (segments - 1u) * uint64_t{payload_bytes} + last_payload_bytes;
  }
};

// A received datagram, copied out of its frame.
struct Datagram {
  transport::Address from;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  Nanos received_at;
  Bytestring bytes;
};

inline constexpr uint64_t kSourcePattern = 0x5eed;
inline constexpr size_t kSourceBytes = 4u << 20;
// A datagram that takes longer counts as lost.
inline constexpr Nanos kPatience = seconds(5);

// Writes the header of one segment: a type byte, then a pattern. `to` has row.header_bytes.
void write_header(const Row& row, uint32_t segment, std::span<std::byte> to);
// A burst of equal segments, except the last.
Row row_of(uint64_t tag, uint16_t segments, uint32_t payload_bytes, uint32_t last_payload_bytes);
// The datagrams that the burst produces, in order.
std::vector<Bytestring> datagrams_of(const Row& row);
// Bytes on the wire above UDP (or its equivalent).
size_t bytes_of(const Row& row);

// Requirements beyond datapath.h:
// - transmit() takes bursts of up to kMaxBurstSegments, whatever max_burst_segments is (that value
//   only describes cost), and headers shorter than kDataHeaderBytes where there is no payload;
// - receive() sets every field of the runs that it returns, whatever the batch held before;
// - on a quiet network each path keeps its order, and nothing is lost while less than half of
//   receive_capacity is in flight;
// - runs of one path share one `from`, whose host is the sender's; different paths have different
//   ones, so no run mixes paths.
class Contract : public testing::TestWithParam<Variant> {
 public:
  // Makes the pair and registers the source memory with both. False: the network lacks an option;
  // the test is then marked as skipped and must return.
  bool open(const PairOptions& options = {});

  Pair& pair() { return *pair_; }
  Datapath& a() { return pair_->a(); }
  Datapath& b() { return pair_->b(); }
  // Payload of a full segment behind a data header; at most 8,000, which keeps bursts small.
  uint32_t full_payload();

  // Sends the bursts from `from` to `to`; retries those that are refused. Overwrites the headers as
  // soon as transmit() has returned.
  void send(Datapath& from, Datapath& to, std::span<const Row> rows);
  void send(const Row& row) { send(a(), b(), {&row, 1}); }
  // Receives until `count` datagrams have arrived (or kPatience has passed); returns them in order.
  std::vector<Datagram> collect(Datapath& at, size_t count);
  // Waits for input and leaves it lent in `batch`.
  bool receive_some(Datapath& at, RxBatch& batch,
                    const transport::Prediction* prediction = nullptr);
  // Sends the bursts and expects exactly their datagrams at b, in order.
  void expect_delivery(std::span<const Row> rows);
  // Checks the properties that every run must have.
  static void check_run(Datapath& at, const transport::RxRun& run);

  transport::RegionId source_at(Datapath& datapath);
  // Sends headers of `bytes` each without payload, as a burst of a connection, or of a stranger.
  void send_headers(Datapath& from, Datapath& to, std::span<const std::byte> headers,
                    uint16_t bytes, uint32_t connection);

 private:
  Bytestring source_;  // outlives the pair
  std::unique_ptr<Pair> pair_;
  transport::RegionId region_a_ = transport::kNoRegion;
  transport::RegionId region_b_ = transport::kNoRegion;
};

// The name function for INSTANTIATE_TEST_SUITE_P.
std::string variant_name(const testing::TestParamInfo<Variant>& info);

}  // namespace heddle::datapath::contract
