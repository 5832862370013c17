// Counts of a lab's links from the texts of /proc/net/dev, tc and nft.
#include "lab/counts.h"

#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::lab {
namespace {

constexpr const char* kDevices =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
    "    lo:       7       1    0    0    0     0          0         0        7       1    0    0  "
    "  "
    "0     0       0          0\n"
    "  nic0:     450       3    0    0    0     0          0         0   936896    6316    0   80  "
    "  "
    "0     0       0          0\n";

constexpr const char* kQueues =
    R"([{"kind":"noqueue","dev":"lo","root":true},
       {"kind":"tbf","dev":"nic0","root":true,"drops":12,"backlog":3028},
       {"kind":"bfifo","dev":"nic0","parent":"1:10","drops":99,"backlog":9}])";

constexpr const char* kFilters =
    R"({"nftables":[{"metainfo":{}},
       {"counter":{"name":"marked_0","table":"heddle","packets":5}},
       {"counter":{"name":"lost_0","table":"heddle","packets":6}},
       {"counter":{"name":"hole_0","table":"other","packets":7}}]})";

class CountsTest : public testing::Test {
 protected:
  CountsTest() : layout_(std::move(*make_layout("test", topology::point_to_point({})))) {
    counts_.links.resize(1);
  }

  Result<void> add(const std::string& text) {
    return add_place_counts(layout_, layout_.places[0], "77\n---\n" + text, counts_);
  }

  Layout layout_;
  Counts counts_;
};

TEST_F(CountsTest, SentCountsAreForwardAndLossesAreCountedAtTheReceiver) {
  const std::string text = std::string(kDevices) + "\n---\n" + kQueues + "\n---\n" + kFilters;
  ASSERT_TRUE(add(text));
  const LinkCounts& link = counts_.links[0];
  EXPECT_EQ(link.forward.at, nanos(77));
  EXPECT_EQ(link.forward.bytes, 936'896u);
  EXPECT_EQ(link.forward.packets, 6'316u);
  EXPECT_EQ(link.forward.overrun, 80u);
  EXPECT_EQ(link.forward.dropped, 12u);
  EXPECT_EQ(link.forward.queued_bytes, 3'028u);
  EXPECT_EQ(link.forward.marked, 5u);
  EXPECT_EQ(link.backward.lost, 6u);
  EXPECT_EQ(link.backward.swallowed, 0u) << "a table of somebody else";
  EXPECT_EQ(link.backward.bytes, 0u);
}

TEST_F(CountsTest, WithoutFiltersTheirCountsAreZero) {
  EXPECT_TRUE(add(std::string(kDevices) + "\n---\n[]\n---\n"));
  EXPECT_EQ(counts_.links[0].forward.packets, 6'316u);
}

TEST_F(CountsTest, InvalidTextIsAnError) {
  EXPECT_FALSE(add(kDevices));
  EXPECT_FALSE(add(std::string(kDevices) + "\n---\nError: what\n---\n"));
  EXPECT_FALSE(add(std::string(kDevices) + "\n---\n[]\n---\n{}"));
}

TEST_F(CountsTest, ReadingDoesNotCountAsLoad) {
  Counts before;
  before.ticks_before = {0, 0};
  before.ticks_after = {100, 100};
  Counts now;
  now.ticks_before = {150, 300};
  now.ticks_after = {350, 500};
  EXPECT_DOUBLE_EQ(busy_share(before, now), 0.25);
}

}  // namespace
}  // namespace heddle::lab
