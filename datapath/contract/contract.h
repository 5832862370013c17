// Contract: the suite that every implementation of datapath/datapath.h passes, as a GoogleTest
// fixture with a Variant as its parameter. The tests stand in *_contract.cc beside it. They send
// rows of datagrams with known bytes from a to b and look at every byte that comes out.
//
// What the suite demands beyond the words of datapath.h:
//  - transmit() takes bursts of up to kMaxBurstSegments whatever max_burst_segments says (that only
//    tells what is cheap), and headers shorter than kDataHeaderBytes where there is no payload;
//  - within a path the order is kept on a quiet network, and nothing is lost while less than half
//  of
//    receive_capacity is under way;
//  - runs of one path share one `from`, whose host is the sender's; different paths have different
//    ones, so that one run never mixes paths.
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

// A burst as a test names it. Its headers are the bytes of pattern `tag`, its payload stands at
// `offset` of the source memory, which holds the bytes of pattern kSourcePattern.
struct Row {
  uint64_t tag = 0;
  uint16_t path = 0;
  uint16_t segments = 1;
  uint16_t header_bytes = transport::kDataHeaderBytes;
  uint32_t payload_bytes = 0;
  uint32_t last_payload_bytes = 0;
  uint64_t offset = 0;
  bool ecn_capable = false;
  uint32_t control_from = UINT32_MAX;  // segments from this one on are no data segments
  transport::SealKey* seal = nullptr;  // seals each segment

  uint64_t total_payload() const {
    return (segments - 1u) * uint64_t{payload_bytes} + last_payload_bytes;
  }
};

// A datagram as it came out, its frame copied.
struct Datagram {
  transport::Address from;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  Nanos received_at;
  Bytestring bytes;
};

inline constexpr uint64_t kSourcePattern = 0x5eed;
inline constexpr size_t kSourceBytes = 4u << 20;
// How long a datagram may take before it counts as missing.
inline constexpr Nanos kPatience = seconds(5);

// The header of one of the row's segments: a kind, then a pattern. `to` has row.header_bytes.
void write_header(const Row& row, uint32_t segment, std::span<std::byte> to);
// A row with equal segments but the last.
Row row_of(uint64_t tag, uint16_t segments, uint32_t payload_bytes, uint32_t last_payload_bytes);
// The datagrams that the row makes, in order.
std::vector<Bytestring> datagrams_of(const Row& row);
// Bytes on the wire above UDP (or what stands for it).
size_t bytes_of(const Row& row);

class Contract : public testing::TestWithParam<Variant> {
 public:
  // Makes the pair and registers the source memory with both. False: the network cannot do it, the
  // test is marked as skipped and has to return.
  bool open(const PairOptions& options = {});

  Pair& pair() { return *pair_; }
  Datapath& a() { return pair_->a(); }
  Datapath& b() { return pair_->b(); }
  // Payload of a full segment behind a data header; at most 8,000 so that rows stay small.
  uint32_t full_payload();

  // Sends the rows from `from` to `to`, offering again what is not taken at once. The headers are
  // overwritten as soon as transmit() has returned.
  void send(Datapath& from, Datapath& to, std::span<const Row> rows);
  void send(const Row& row) { send(a(), b(), {&row, 1}); }
  // Receives until `count` datagrams have arrived (or kPatience is over) and returns them in order.
  std::vector<Datagram> collect(Datapath& at, size_t count);
  // Waits until something is there and leaves it lent in `batch`.
  bool receive_some(Datapath& at, RxBatch& batch,
                    const transport::Prediction* prediction = nullptr);
  // Sends the rows and expects exactly their datagrams at b, in order.
  void expect_delivery(std::span<const Row> rows);
  // What every run must hold, whoever sent it.
  static void check_run(Datapath& at, const transport::RxRun& run);

  transport::RegionId source_at(Datapath& datapath);

 private:
  Bytestring source_;  // outlives the pair
  std::unique_ptr<Pair> pair_;
  transport::RegionId region_a_ = transport::kNoRegion;
  transport::RegionId region_b_ = transport::kNoRegion;
};

// For INSTANTIATE_TEST_SUITE_P.
std::string variant_name(const testing::TestParamInfo<Variant>& info);

}  // namespace heddle::datapath::contract
