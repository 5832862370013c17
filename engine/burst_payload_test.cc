// The largest burst's payload follows from the network's capabilities and the requested limit.
#include "engine/burst_payload.h"

#include <gtest/gtest.h>

#include "datapath/datapath.h"
#include "transport/rx_run.h"

namespace heddle::engine {
namespace {

constexpr uint32_t kHeader = transport::kDataHeaderBytes;
constexpr datapath::Capabilities kNetwork = {.max_datagram_bytes = 8972, .max_burst_segments = 64};

TEST(BurstPayload, IsThatOfTheMostSegmentsThatFit) {
  EXPECT_EQ(burst_payload_bytes(kNetwork, {}, false), 7U * (8972 - kHeader));
  EXPECT_EQ(burst_payload_bytes(kNetwork, {}, true), 7U * (8972 - kHeader - 16)) << "tags";
  EXPECT_EQ(burst_payload_bytes(kNetwork, {20'000}, false), 2U * (8972 - kHeader));
  datapath::Capabilities narrow = kNetwork;
  narrow.max_datagram_bytes = 1472;
  EXPECT_EQ(burst_payload_bytes(narrow, {}, false), 43U * (1472 - kHeader));
}

TEST(BurstPayload, IsZeroWhereSegmentsLeaveOneByOneOrArePlaced) {
  EXPECT_EQ(burst_payload_bytes(kNetwork, {1}, false), 0U);
  EXPECT_EQ(burst_payload_bytes(kNetwork, {9000}, false), 0U);
  datapath::Capabilities without = kNetwork;
  without.max_burst_segments = 1;
  EXPECT_EQ(burst_payload_bytes(without, {}, false), 0U);
  datapath::Capabilities placing = kNetwork;
  placing.chunk_paths = 4;
  EXPECT_EQ(burst_payload_bytes(placing, {}, false), 0U);
}

}  // namespace
}  // namespace heddle::engine
