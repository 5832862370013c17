// How much parity there is, and what has none.
#include "datapath/fec/parity_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "datapath/fec/testing/packets.h"

namespace heddle::datapath {
namespace {

constexpr size_t kMost = 1200;

class ParityEncoderTest : public testing::Test {
 protected:
  ParityEncoder::Send count() {
    return [this](const transport::TxBurst& burst) {
      ++groups_;
      rows_ += burst.segments;
      longest_ = std::max<size_t>(longest_, burst.header_bytes);
    };
  }
  static void add(ParityEncoder& encoder, Nanos now, const Packet& packet) {
    encoder.add(now, {}, *transport::identify_packet(packet), packet, {});
  }

  size_t groups_ = 0;
  size_t rows_ = 0;
  size_t longest_ = 0;
};

// Once the oldest group ended for each further connection, with a row of parity for few packets.
TEST_F(ParityEncoderTest, MoreConnectionsThanGroupsCostNoFurtherParity) {
  constexpr uint64_t kConnections = 3 * fec_params::kMostGroups;
  constexpr uint64_t kRounds = 100;
  ParityEncoder encoder({10, 1}, kMost, kMost + kMostParityOverhead, count());
  Nanos now = seconds(1);
  for (uint64_t number = 1; number <= kRounds; ++number) {
    for (uint64_t connection = 1; connection <= kConnections; ++connection, now += nanos(500)) {
      add(encoder, now, data_packet(0, number, 300, connection));
    }
  }
  encoder.send_due(now + seconds(1));
  EXPECT_LE(rows_, kConnections * kRounds / 10 + fec_params::kMostGroups);
  EXPECT_GE(rows_, fec_params::kMostGroups * kRounds / 10);
}

TEST_F(ParityEncoderTest, AGroupThatIsDueMakesPlaceForAnotherConnection) {
  ParityEncoder encoder({10, 1}, kMost, kMost + kMostParityOverhead, count());
  Nanos now = seconds(1);
  for (uint64_t connection = 1; connection <= fec_params::kMostGroups; ++connection) {
    add(encoder, now, data_packet(0, 1, 300, connection));
  }
  add(encoder, now, data_packet(0, 1, 300, 1'000));
  EXPECT_EQ(groups_, 0u);
  now += fec_params::kIdle;
  add(encoder, now, data_packet(0, 2, 300, 1'000));
  EXPECT_EQ(groups_, 1u);
  encoder.send_due(now);
  EXPECT_EQ(groups_, fec_params::kMostGroups);
  encoder.send_due(now + fec_params::kIdle);
  EXPECT_EQ(groups_, fec_params::kMostGroups + 1);
}

// IPv6 with an MTU of 1,280: datagrams of 1,200 bytes, and 1,232 for parity.
TEST_F(ParityEncoderTest, ParityIsNoLongerThanItMayBe) {
  constexpr size_t kMostParity = 1'232;
  ParityEncoder encoder({32, 1}, kMost, kMostParity, count());
  const Nanos now = seconds(1);
  for (uint16_t path = 0; path < 8; ++path) add(encoder, now, data_packet(path, 5, kMost));
  EXPECT_EQ(groups_, 1u);
  for (uint16_t path = 8; path < 15; ++path) add(encoder, now, data_packet(path, 5, 100));
  add(encoder, now, data_packet(15, 5, kMost));
  encoder.send_due(now + fec_params::kAge);
  EXPECT_EQ(longest_, kMostParity);
  EXPECT_GE(groups_, 3u);
}

TEST_F(ParityEncoderTest, ADatagramWithoutSpaceForParityHasNone) {
  ParityEncoder encoder({1, 1}, kMost, kMost, count());
  const Nanos now = seconds(1);
  add(encoder, now, data_packet(0, 1, kMost));
  EXPECT_EQ(rows_, 0u);
  add(encoder, now, data_packet(0, 2, kMost - 12));
  EXPECT_EQ(rows_, 1u);
  EXPECT_EQ(longest_, kMost);
}

}  // namespace
}  // namespace heddle::datapath
