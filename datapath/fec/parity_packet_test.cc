// What is read of the two datagrams, and what is refused.
#include "datapath/fec/parity_packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "datapath/fec.h"
#include "datapath/fec/testing/packets.h"

namespace heddle::datapath {
namespace {

using transport::PacketIdentity;

Parity example() {
  Parity parity{.group = 0xfffe, .row = 1};
  parity.list = {.connection = kTestConnection, .members = 5, .run_count = 2};
  parity.list.runs[0] = {7, 3, 0xffff};
  parity.list.runs[1] = {255, 2, 9};
  return parity;
}

Packet written(const Parity& parity, size_t body_bytes = 60) {
  Packet datagram(kParityHeaderBytes + kRunBytes * parity.list.run_count + body_bytes);
  write_parity_header(parity, datagram);
  return datagram;
}

TEST(ParityPacket, WhatIsWrittenIsRead) {
  const Parity parity = example();
  const Packet datagram = written(parity);
  const auto read = read_parity(datagram);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->group, parity.group);
  EXPECT_EQ(read->row, parity.row);
  EXPECT_EQ(read->list, parity.list);
  EXPECT_EQ(read->body.size(), 60u);
  EXPECT_FALSE(read_announcement(datagram).has_value());
}

TEST(ParityPacket, MembersAreNamedByTheLowerBitsOfTheirNumbers) {
  const MemberList list = example().list;
  EXPECT_EQ(list.find({kTestConnection, 0x5ffff, 7}), 0u);
  EXPECT_EQ(list.find({kTestConnection, 0x60001, 7}), 2u);
  EXPECT_EQ(list.find({kTestConnection, 0x60002, 7}), std::nullopt);
  EXPECT_EQ(list.find({kTestConnection, 10, 255}), 4u);
  EXPECT_EQ(list.find({kTestConnection, 10, 7}), std::nullopt);
  EXPECT_EQ(list.find({kTestConnection + 1, 10, 255}), std::nullopt);
  EXPECT_EQ(list.at(1), (PacketIdentity{kTestConnection, 0, 7}));
  EXPECT_EQ(list.at(4), (PacketIdentity{kTestConnection, 10, 255}));
}

TEST(ParityPacket, MalformedOnesAreRefused) {
  const Packet good = written(example());
  for (size_t bytes = 0; bytes + 22 < kParityHeaderBytes + 8 + 44; ++bytes) {
    EXPECT_FALSE(read_parity(std::span(good).first(bytes)).has_value()) << bytes;
  }
  const auto with = [&](size_t at, uint8_t value) {
    Packet changed = good;
    changed[at] = std::byte{value};
    return read_parity(changed).has_value();
  };
  EXPECT_TRUE(with(3, kMostFecParity - 1));
  EXPECT_FALSE(with(0, 0x28));
  EXPECT_FALSE(with(1, 2));
  EXPECT_FALSE(with(2, 0));
  EXPECT_FALSE(with(3, kMostFecParity));
  EXPECT_FALSE(with(6, 4));
  EXPECT_FALSE(with(7, 0));
  EXPECT_FALSE(with(7, fec_params::kMostRuns + 1));
  EXPECT_FALSE(with(kParityHeaderBytes + 1, 0));
  Parity many = example();
  many.list.members = kMostFecData + 1;
  many.list.runs[0].count = kMostFecData - 1;
  EXPECT_FALSE(read_parity(written(many)).has_value());
}

TEST(ParityPacket, AnAnnouncementHasAPortAndIsAsShortAsOldEndpointsDropSilently) {
  const auto datagram = write_announcement(18'704);
  EXPECT_EQ(read_announcement(datagram), 18'704);
  EXPECT_EQ(datagram.size(), 8u);
  EXPECT_FALSE(read_parity(datagram).has_value());
  EXPECT_FALSE(read_announcement(std::span(datagram).first(7)).has_value());
}

TEST(ParityPacket, ASymbolIsItsPacketAndNothingElse) {
  const Packet packet = data_packet(3, 0x12345, 100);
  std::vector<std::byte> row(symbol_bytes(100) + 5);
  add_symbol(row, 1, packet);
  Packet out(200);
  const PacketIdentity name{kTestConnection, 0x2345, 3};
  ASSERT_EQ(read_symbol(row, name, out), 100u);
  EXPECT_TRUE(std::equal(packet.begin(), packet.end(), out.begin()));
  // In two parts it is the same.
  std::vector<std::byte> parts(row.size());
  add_symbol(parts, 1, std::span(packet).first(44), std::span(packet).subspan(44));
  EXPECT_EQ(parts, row);

  EXPECT_EQ(read_symbol(row, name, std::span(out).first(99)), 0u);
  EXPECT_EQ(read_symbol(row, {kTestConnection, 0x2346, 3}, out), 0u);
  const auto with = [&](size_t at, uint8_t value) {
    std::vector<std::byte> changed = row;
    changed[at] = std::byte{value};
    return read_symbol(changed, name, out);
  };
  EXPECT_EQ(with(0, 29), 0u);               // shorter than any packet
  EXPECT_EQ(with(1, 1), 0u);                // longer than the symbol
  EXPECT_EQ(with(row.size() - 1, 1), 0u);   // something behind it
  EXPECT_EQ(with(kLengthBytes, 0x2b), 0u);  // parity of parity
}

}  // namespace
}  // namespace heddle::datapath
