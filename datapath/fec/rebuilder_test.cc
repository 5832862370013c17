// The encoder and the rebuilder together: all patterns of loss, order and repetition, and what
// forged parity does.
#include "datapath/fec/rebuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "datapath/fec/parity_encoder.h"
#include "datapath/fec/testing/packets.h"

namespace heddle::datapath {
namespace {

constexpr size_t kMost = 1500;
constexpr Nanos kNow = seconds(1);

class RebuilderTest : public testing::Test {
 protected:
  // The parity of a group of these packets.
  std::vector<Packet> parity_of(const std::vector<Packet>& packets, FecOptions options) {
    std::vector<Packet> made;
    ParityEncoder encoder(options, kMost, kMost + kMostParityOverhead,
                          [&](const transport::TxBurst& burst) {
                            for (size_t i = 0; i < burst.segments; ++i) {
                              const std::byte* from = burst.headers + i * burst.header_bytes;
                              made.emplace_back(from, from + burst.header_bytes);
                            }
                          });
    for (const Packet& packet : packets) {
      encoder.add(kNow, {}, *transport::identify_packet(packet), packet, {});
    }
    encoder.send_due(kNow + fec_params::kAge);
    return made;
  }

  void arrive(Rebuilder& rebuilder, const Packet& datagram) {
    if (const auto parity = read_parity(datagram)) {
      rebuilder.handle(kNow, *parity, {});
    } else {
      rebuilder.remember(kNow, *transport::identify_packet(datagram), datagram);
    }
  }

  std::vector<Packet> taken(Rebuilder& rebuilder) {
    std::vector<Packet> made;
    transport::RxRun run;
    while (rebuilder.take(run)) made.emplace_back(run.frame, run.frame + run.segment_bytes);
    rebuilder.release();
    return made;
  }

  static std::vector<Packet> packets(uint32_t count) {
    std::vector<Packet> made;
    for (uint32_t i = 0; i < count; ++i) {
      made.push_back(data_packet(static_cast<uint16_t>(i / 3), 0xfffe + i % 3, 100 + 37 * (i % 4)));
    }
    return made;
  }

  // Sends all datagrams but those of the pattern's bits, in this order.
  void expect_rebuilt(const std::vector<Packet>& group, const std::vector<Packet>& datagrams,
                      uint32_t lost, const std::vector<size_t>& order, uint32_t most) {
    Rebuilder rebuilder(kMost);
    std::vector<Packet> missing;
    for (const size_t i : order) {
      if ((lost >> i & 1) == 0) arrive(rebuilder, datagrams[i]);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      if ((lost >> i & 1) != 0) missing.push_back(group[i]);
    }
    std::vector<Packet> rebuilt = taken(rebuilder);
    // Packets that arrive behind the parity that rebuilt them are rebuilt as well.
    for (const Packet& each : rebuilt) {
      EXPECT_NE(std::ranges::find(group, each), group.end()) << "not what was sent";
    }
    if (static_cast<uint32_t>(std::popcount(lost)) > most) return;
    for (const Packet& each : missing) {
      EXPECT_NE(std::ranges::find(rebuilt, each), rebuilt.end()) << "pattern " << lost;
    }
  }
};

TEST_F(RebuilderTest, AllPatternsOfLossUpToTheParityAreRepaired) {
  for (uint32_t data = 1; data <= 7; ++data) {
    for (uint32_t parity = 1; parity <= std::min(data, 4u); ++parity) {
      const auto group = packets(data);
      std::vector<Packet> datagrams = group;
      const auto added =
          parity_of(group, {static_cast<uint8_t>(data), static_cast<uint8_t>(parity)});
      ASSERT_EQ(added.size(), parity);
      datagrams.insert(datagrams.end(), added.begin(), added.end());
      std::vector<size_t> order(datagrams.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::vector<size_t> backwards(order.rbegin(), order.rend());
      for (uint32_t lost = 0; lost < (1u << datagrams.size()); ++lost) {
        expect_rebuilt(group, datagrams, lost, order, parity);
        expect_rebuilt(group, datagrams, lost, backwards, parity);
      }
    }
  }
}

TEST_F(RebuilderTest, MoreLossesThanParityRebuildNothing) {
  const auto group = packets(5);
  const auto parity = parity_of(group, {5, 2});
  Rebuilder rebuilder(kMost);
  arrive(rebuilder, group[0]);
  arrive(rebuilder, group[1]);
  for (const Packet& each : parity) arrive(rebuilder, each);
  EXPECT_TRUE(taken(rebuilder).empty());
  // A late one brings the others.
  arrive(rebuilder, group[4]);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{group[2], group[3]}));
}

TEST_F(RebuilderTest, EveryOrderOfASmallGroupRepairsIt) {
  const auto group = packets(4);
  std::vector<Packet> datagrams = group;
  for (const Packet& each : parity_of(group, {4, 2})) datagrams.push_back(each);
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    for (const uint32_t lost : {0b000001u, 0b001010u, 0b010100u, 0b110000u}) {
      expect_rebuilt(group, datagrams, lost, order, 2);
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(RebuilderTest, DuplicatedPacketsAreRebuiltOnce) {
  const auto group = packets(4);
  const auto parity = parity_of(group, {4, 2});
  Rebuilder rebuilder(kMost);
  for (int times = 0; times < 2; ++times) {
    for (const size_t i : {0, 1, 3}) arrive(rebuilder, group[i]);
  }
  for (const size_t i : {0, 0, 1, 1, 0}) arrive(rebuilder, parity[i]);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{group[2]}));
  // The same row twice is one row.
  Rebuilder second(kMost);
  for (const size_t i : {0, 1}) arrive(second, group[i]);
  for (int i = 0; i < 3; ++i) arrive(second, parity[1]);
  EXPECT_TRUE(taken(second).empty());
}

TEST_F(RebuilderTest, NothingIsRebuiltOfACompleteGroup) {
  const auto group = packets(6);
  Rebuilder rebuilder(kMost);
  for (const Packet& each : group) arrive(rebuilder, each);
  for (const Packet& each : parity_of(group, {6, 2})) arrive(rebuilder, each);
  EXPECT_FALSE(rebuilder.any());
  EXPECT_EQ(rebuilder.rebuilt(), 0u);
}

TEST_F(RebuilderTest, AGroupThatEndsEarlyHasItsPartOfTheParity) {
  EXPECT_EQ(parity_of(packets(1), {8, 4}).size(), 1u);
  EXPECT_EQ(parity_of(packets(2), {8, 4}).size(), 1u);
  EXPECT_EQ(parity_of(packets(3), {8, 4}).size(), 2u);
  EXPECT_EQ(parity_of(packets(8), {8, 4}).size(), 4u);
  const auto group = packets(3);
  Rebuilder rebuilder(kMost);
  arrive(rebuilder, group[1]);
  for (const Packet& each : parity_of(group, {8, 4})) arrive(rebuilder, each);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{group[0], group[2]}));
}

TEST_F(RebuilderTest, ConnectionsHaveGroupsOfTheirOwn) {
  std::vector<Packet> mixed;
  for (uint64_t i = 0; i < 4; ++i) {
    mixed.push_back(data_packet(0, i + 1, 200, 1 + i % 2));
  }
  const auto parity = parity_of(mixed, {2, 1});
  ASSERT_EQ(parity.size(), 2u);
  Rebuilder rebuilder(kMost);
  arrive(rebuilder, mixed[0]);
  arrive(rebuilder, mixed[3]);
  for (const Packet& each : parity) arrive(rebuilder, each);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{mixed[2], mixed[1]}));
}

TEST_F(RebuilderTest, PathsBeyondTheRunsOfAGroupBeginAnother) {
  std::vector<Packet> packets;
  for (uint16_t path = 0; path < fec_params::kMostRuns + 1; ++path) {
    packets.push_back(data_packet(path, 5, 100));
  }
  EXPECT_EQ(parity_of(packets, {32, 1}).size(), 2u);
}

// An attacker who knows a connection can only have datagrams dropped later: what is rebuilt of a
// forgery is no packet of the connection, or fails the transport's check.
TEST_F(RebuilderTest, ForgedParityRebuildsNothingThatLooksGenuine) {
  const auto group = packets(4);
  const auto parity = parity_of(group, {4, 2});
  uint32_t rebuilt = 0;
  for (size_t at = 0; at < parity[0].size(); ++at) {
    if (at == 4 || at == 5) continue;  // the group's number alone
    Packet forged = parity[0];
    forged[at] ^= std::byte{0x41};
    Rebuilder rebuilder(kMost);
    for (const size_t i : {0, 1, 3}) arrive(rebuilder, group[i]);
    arrive(rebuilder, forged);
    for (const Packet& each : taken(rebuilder)) {
      ++rebuilt;
      EXPECT_TRUE(transport::identify_packet(each).has_value());
      EXPECT_NE(each, group[2]);
    }
    // The genuine one still repairs.
    arrive(rebuilder, parity[1]);
    const auto after = taken(rebuilder);
    if (rebuilder.rebuilt() == 1 && !after.empty()) {
      EXPECT_EQ(after[0], group[2]);
    }
  }
  EXPECT_GT(rebuilt, 0u);  // of the payload: the transport's tag refuses it
}

TEST_F(RebuilderTest, GroupsWithoutEndPushEachOtherOut) {
  Rebuilder rebuilder(kMost);
  for (uint32_t i = 0; i < 10 * fec_params::kMostPending; ++i) {
    std::vector<Packet> group;
    for (uint64_t n = 0; n < 4; ++n) group.push_back(data_packet(0, 100 * i + n, 80));
    arrive(rebuilder, parity_of(group, {4, 1})[0]);
  }
  EXPECT_FALSE(rebuilder.any());
  const auto group = packets(3);
  arrive(rebuilder, group[0]);
  arrive(rebuilder, group[1]);
  arrive(rebuilder, parity_of(group, {3, 1})[0]);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{group[2]}));
}

// Once 16 forged rows of groups that do not exist ended all that waited.
TEST_F(RebuilderTest, InventedGroupsPushNoneWithAMemberOut) {
  const auto group = packets(5);
  const auto parity = parity_of(group, {5, 2});
  Rebuilder rebuilder(kMost);
  for (const size_t i : {0, 1, 2}) arrive(rebuilder, group[i]);
  arrive(rebuilder, parity[0]);  // two are missing, one row is here
  for (uint32_t i = 0; i < 10 * fec_params::kMostPending; ++i) {
    std::vector<Packet> invented;
    const uint32_t members = 1 + i % 8;
    for (uint64_t n = 0; n < members; ++n) {
      invented.push_back(data_packet(0, 100 * i + n, 80, 0xbad0000 + i));
    }
    arrive(rebuilder, parity_of(invented, {static_cast<uint8_t>(members), 1})[0]);
  }
  taken(rebuilder);
  arrive(rebuilder, parity[1]);
  EXPECT_EQ(taken(rebuilder), (std::vector<Packet>{group[3], group[4]}));
}

// As small messages have them: each is a group of its own.
TEST_F(RebuilderTest, ALonePacketIsRebuiltWhileAllPlacesWait) {
  Rebuilder rebuilder(kMost);
  for (uint32_t i = 0; i < fec_params::kMostPending; ++i) {
    std::vector<Packet> group;
    for (uint64_t n = 0; n < 4; ++n) group.push_back(data_packet(0, 100 * i + n, 80));
    arrive(rebuilder, group[0]);
    arrive(rebuilder, parity_of(group, {4, 1})[0]);
  }
  const Packet lone = data_packet(5, 7, 90);
  arrive(rebuilder, parity_of({lone}, {8, 2})[0]);
  EXPECT_EQ(taken(rebuilder), std::vector<Packet>{lone});
}

TEST_F(RebuilderTest, RebuiltPacketsBeyondTheSpaceAreDropped) {
  Rebuilder rebuilder(kMost);
  for (uint32_t i = 0; i < 2 * fec_params::kMostRebuilt; ++i) {
    arrive(rebuilder, parity_of({data_packet(0, i + 1, 80)}, {1, 1})[0]);
  }
  EXPECT_EQ(taken(rebuilder).size(), fec_params::kMostRebuilt);
  arrive(rebuilder, parity_of({data_packet(1, 1, 80)}, {1, 1})[0]);
  EXPECT_EQ(taken(rebuilder).size(), 1u);
}

}  // namespace
}  // namespace heddle::datapath
