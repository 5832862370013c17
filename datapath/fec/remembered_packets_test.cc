// What the ring of datagrams holds: bytes, not slots of the longest datagram.
#include "datapath/fec/remembered_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/random.h"
#include "datapath/fec/testing/packets.h"

namespace heddle::datapath {
namespace {

MemberList one(uint64_t number) {
  MemberList list{.connection = kTestConnection, .members = 1, .run_count = 1};
  list.runs[0] = {0, 1, static_cast<uint16_t>(number)};
  return list;
}

bool holds(const RememberedPackets& packets, uint64_t number, const Packet& packet) {
  RememberedPackets::Found found;
  if (packets.find(one(number), found) != 0) return false;
  return std::ranges::equal(found[0], packet);
}

void keep(RememberedPackets& packets, const Packet& packet) {
  packets.keep(*transport::identify_packet(packet), packet);
}

// Once a datagram of 1,500 bytes took the place of one of 9,000.
TEST(RememberedPackets, ShortDatagramsLeaveSpaceForMore) {
  RememberedPackets packets(fec_params::kRememberedBytes, fec_params::kMostRemembered);
  constexpr size_t kBytes = 1'472;
  const size_t count = fec_params::kRememberedBytes / kBytes;
  for (uint64_t i = 1; i <= 2 * count; ++i) keep(packets, data_packet(0, i, kBytes));
  EXPECT_GE(packets.size(), count - 1);
  EXPECT_TRUE(holds(packets, 2 * count, data_packet(0, 2 * count, kBytes)));
  EXPECT_TRUE(holds(packets, count + 2, data_packet(0, count + 2, kBytes)));
  RememberedPackets::Found found;
  EXPECT_NE(packets.find(one(count - 1), found), 0u);
}

TEST(RememberedPackets, TheLatestAreWholeWhateverTheirLengths) {
  for (const size_t bytes : {size_t{1'000}, size_t{4'096}, size_t{10'007}}) {
    RememberedPackets packets(bytes, 40);
    Random random(bytes);
    std::deque<Packet> latest;
    for (uint64_t number = 1; number < 3'000; ++number) {
      const size_t length = 44 + random.next() % (bytes / (1 + random.next() % 9) - 44);
      latest.push_front(data_packet(0, number, length));
      keep(packets, latest.front());
      ASSERT_GE(packets.size(), 1u);
      ASSERT_LE(packets.size(), 40u);
      latest.resize(std::min(latest.size(), packets.size()));
      size_t sum = 0;
      for (size_t i = 0; i < latest.size(); ++i) {
        sum += latest[i].size();
        ASSERT_TRUE(holds(packets, number - i, latest[i])) << number << ' ' << i;
      }
      ASSERT_LE(sum, bytes);
    }
  }
}

TEST(RememberedPackets, ADatagramAsLongAsTheMemoryIsKeptAlone) {
  RememberedPackets packets(500, 10);
  keep(packets, data_packet(0, 1, 100));
  keep(packets, data_packet(0, 2, 500));
  EXPECT_EQ(packets.size(), 1u);
  EXPECT_TRUE(holds(packets, 2, data_packet(0, 2, 500)));
}

}  // namespace
}  // namespace heddle::datapath
