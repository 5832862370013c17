// What a NIC hands over is a datagram only if each part of it says so.
#include "datapath/ud/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "datapath/rdma_devices.h"

namespace heddle::datapath {
namespace {

using transport::Address;
using transport::Ecn;

Address at(const char* host, uint16_t port) {
  Address address;
  address.host = *parse_rdma_address(host);
  address.port = port;
  return address;
}

const Address kLocal4 = at("10.0.0.1", 5'000);
const Address kLocal6 = at("fd00::1", 5'000);

// A buffer as the NIC fills it, of its own size, so that the address sanitizer sees what is read
// behind it.
std::vector<std::byte> ipv4_packet(uint32_t payload, uint8_t traffic_class = 0) {
  std::vector<std::byte> bytes(kGrhBytes + payload, std::byte{0x66});  // the first 20: anything
  bytes[20] = std::byte{0x45};
  bytes[21] = std::byte{traffic_class};
  const auto from = *parse_rdma_address("10.0.0.9");
  std::memcpy(&bytes[32], &from[12], 4);
  std::memcpy(&bytes[36], &kLocal4.host[12], 4);
  return bytes;
}

std::vector<std::byte> ipv6_packet(uint32_t payload, uint8_t traffic_class = 0) {
  std::vector<std::byte> bytes(kGrhBytes + payload, std::byte{0x45});
  bytes[0] = std::byte{0x60} | std::byte{traffic_class} >> 4;
  bytes[1] = std::byte{traffic_class} << 4;
  const auto from = *parse_rdma_address("fd00::9");
  std::memcpy(&bytes[8], from.data(), 16);
  std::memcpy(&bytes[24], kLocal6.host.data(), 16);
  return bytes;
}

UdReceived received(const std::vector<std::byte>& bytes) {
  return {.bytes = static_cast<uint32_t>(bytes.size()),
          .has_header = true,
          .has_immediate = true,
          .immediate = ports_of(7'000, 5'000)};
}

TEST(UdPacketTest, ADatagramIsFromTheAddressAndPortThatItNames) {
  const auto four = ipv4_packet(100);
  const auto arrival = read_arrival(four, received(four), kLocal4);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->from, at("10.0.0.9", 7'000));
  EXPECT_EQ(arrival->bytes, 100u);
  const auto six = ipv6_packet(1);
  const auto other = read_arrival(six, received(six), kLocal6);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->from, at("fd00::9", 7'000));
  EXPECT_EQ(other->bytes, 1u);
}

TEST(UdPacketTest, EcnIsReadBesideTheTrafficClass) {
  for (const Ecn ecn : {Ecn::kNotCapable, Ecn::kEct0, Ecn::kEct1, Ecn::kCongestion}) {
    const auto traffic_class = static_cast<uint8_t>(0xb8 | static_cast<uint8_t>(ecn));
    const auto four = ipv4_packet(10, traffic_class);
    const auto six = ipv6_packet(10, traffic_class);
    EXPECT_EQ(read_arrival(four, received(four), kLocal4)->ecn, ecn);
    EXPECT_EQ(read_arrival(six, received(six), kLocal6)->ecn, ecn);
  }
}

TEST(UdPacketTest, WhatHasNoHeaderNoImmediateOrNoPayloadIsRefused) {
  const auto bytes = ipv4_packet(10);
  UdReceived without = received(bytes);
  without.has_header = false;
  EXPECT_FALSE(read_arrival(bytes, without, kLocal4));
  without = received(bytes);
  without.has_immediate = false;
  EXPECT_FALSE(read_arrival(bytes, without, kLocal4));
  for (uint32_t length = 0; length <= kGrhBytes; ++length) {
    const std::vector<std::byte> shorter(bytes.begin(), bytes.begin() + length);
    EXPECT_FALSE(read_arrival(shorter, received(shorter), kLocal4)) << length;
  }
}

TEST(UdPacketTest, OneThatClaimsMoreThanTheBufferHoldsIsRefused) {
  const auto bytes = ipv4_packet(10);
  UdReceived more = received(bytes);
  for (const uint32_t claimed : {more.bytes + 1, UINT32_MAX}) {
    more.bytes = claimed;
    EXPECT_FALSE(read_arrival(bytes, more, kLocal4));
  }
}

TEST(UdPacketTest, OneForAnotherPortOrAddressIsRefused) {
  const auto bytes = ipv4_packet(10);
  UdReceived other = received(bytes);
  other.immediate = ports_of(7'000, 5'001);
  EXPECT_FALSE(read_arrival(bytes, other, kLocal4));
  other.immediate = ports_of(0, 5'000);
  EXPECT_FALSE(read_arrival(bytes, other, kLocal4));
  EXPECT_FALSE(read_arrival(bytes, received(bytes), at("10.0.0.2", 5'000)));
  const auto six = ipv6_packet(10);
  EXPECT_FALSE(read_arrival(six, received(six), at("fd00::2", 5'000)));
}

TEST(UdPacketTest, AHeaderOfTheOtherFamilyIsRefused) {
  const auto four = ipv4_packet(10);
  EXPECT_FALSE(read_arrival(four, received(four), kLocal6));
  const auto six = ipv6_packet(10);
  EXPECT_FALSE(read_arrival(six, received(six), kLocal4));
  auto options = ipv4_packet(10);
  options[20] = std::byte{0x46};
  EXPECT_FALSE(read_arrival(options, received(options), kLocal4));
}

// Any bytes and any claim: nothing is read outside, and what is accepted names a sender.
TEST(UdPacketTest, HostileHeadersAndLengthsAreReadWithinTheirBuffer) {
  Random random(7);
  uint32_t accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    auto bytes = random.below(2) == 0 ? ipv4_packet(static_cast<uint32_t>(random.below(64)))
                                      : ipv6_packet(static_cast<uint32_t>(random.below(64)));
    bytes.resize(random.below(bytes.size() + 1));
    bytes.shrink_to_fit();
    for (uint64_t changes = random.below(3); changes > 0 && !bytes.empty(); --changes) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    }
    UdReceived claim = received(bytes);
    if (random.below(4) == 0) claim.bytes = static_cast<uint32_t>(random.next());
    if (random.below(4) == 0) claim.immediate = static_cast<uint32_t>(random.next());
    for (const Address& local : {kLocal4, kLocal6}) {
      const auto arrival = read_arrival(bytes, claim, local);
      if (!arrival) continue;
      ++accepted;
      ASSERT_LE(kGrhBytes + arrival->bytes, bytes.size());
      ASSERT_GT(arrival->bytes, 0u);
      ASSERT_NE(arrival->from.port, 0);
      ASSERT_TRUE(transport::same_family(arrival->from, local));
    }
  }
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace heddle::datapath
