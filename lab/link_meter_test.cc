// Link meter: which column of which device is whose direction.
#include "lab/link_meter.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "topology/generators.h"

namespace heddle::lab {
namespace {

TEST(LinkMeter, CountsWhatEachEndSent) {
  Result<Layout> layout = make_layout("meter", topology::point_to_point({}));
  ASSERT_TRUE(layout);
  std::vector<LinkBytes> links(1);
  const std::string table =
      "Inter-|   Receive                                |  Transmit\n"
      " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n"
      "    lo:     1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n";
  for (const Place& place : layout->places) {
    const Port& port = layout->ports[place.ports.front()];
    const char* const counts = port.at_a ? ": 700 9 0 0 0 0 0 0 500 8 0 0 0 0 0 0\n"
                                         : ": 500 8 0 0 0 0 0 0 700 9 0 0 0 0 0 0\n";
    add_device_bytes(*layout, place, table + "  " + port.device + counts, links);
  }
  EXPECT_EQ(links[0].forward, 500u);
  EXPECT_EQ(links[0].backward, 700u);
}

TEST(LinkMeter, LeavesOutLinesThatItCannotRead) {
  const Result<Layout> layout = make_layout("meter", topology::point_to_point({}));
  ASSERT_TRUE(layout);
  std::vector<LinkBytes> links(1);
  const Place& place = layout->places.front();
  add_device_bytes(*layout, place, layout->ports[place.ports.front()].device + ": 1 2 3\nnothing",
                   links);
  EXPECT_EQ(links[0].forward, 0u);
  EXPECT_EQ(links[0].backward, 0u);
}

}  // namespace
}  // namespace heddle::lab
