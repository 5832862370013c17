// Frames of AF_XDP: headers that are built are those of the standards, and every fault is found.
#include "datapath/xdp/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "datapath/resolve.h"

namespace heddle::datapath {
namespace {

using Frame = std::vector<std::byte>;

constexpr uint16_t kPort = 4791;

transport::Address address(const char* text, uint16_t port = 0) {
  const auto resolved = resolve(text, port);
  EXPECT_TRUE(resolved.has_value());
  return resolved.value_or(transport::Address{});
}

LinkHeader link_with(std::vector<VlanTag> tags = {}) {
  LinkHeader link;
  link.from = {2, 0, 0, 0, 0, 1};
  link.to = {2, 0, 0, 0, 0, 2};
  link.tag_count = static_cast<uint8_t>(tags.size());
  std::copy(tags.begin(), tags.end(), link.tags.begin());
  return link;
}

Frame payload_of(size_t bytes) {
  Frame payload(bytes);
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(7 * i + 3);
  return payload;
}

Frame build(const FrameTemplate& frame, DatagramFields fields, const Frame& payload) {
  fields.payload_bytes = static_cast<uint32_t>(payload.size());
  Frame built(frame.header_bytes + payload.size());
  ChecksumSum sum;
  sum.add(payload);
  write_frame_headers(frame, fields, sum, built.data());
  std::copy(payload.begin(), payload.end(), built.begin() + frame.header_bytes);
  return built;
}

FrameFault parse(const Frame& frame, ParsedFrame& parsed) {
  return parse_frame(frame, static_cast<uint32_t>(frame.size()), kPort, 7, parsed);
}

bool checksum_holds(const Frame& frame, const ParsedFrame& parsed) {
  if (parsed.checked) return true;
  ChecksumSum sum = parsed.header_sum;
  sum.add(std::span(frame).subspan(parsed.payload_at, parsed.payload_bytes));
  return ParsedFrame::holds(sum);
}

Frame ipv4_frame(size_t payload_bytes = 100) {
  return build(make_frame_template(link_with(), address("10.0.0.1"), address("10.0.0.2")),
               {.from_port = 40000, .to_port = kPort}, payload_of(payload_bytes));
}

Frame ipv6_frame(size_t payload_bytes = 100) {
  return build(make_frame_template(link_with(), address("fd00::1"), address("fd00::2")),
               {.from_port = 40000, .to_port = kPort}, payload_of(payload_bytes));
}

// By hand: RFC 1071 over the bytes that RFC 791 and RFC 768 name.
TEST(XdpFrameTest, TheHeadersOfAnIpv4DatagramAreThoseOfTheStandards) {
  const FrameTemplate frame = make_frame_template(link_with({{0x88a8, 3}, {0x8100, 0x123}}),
                                                  address("10.0.0.1"), address("10.0.0.2"));
  const Frame built = build(
      frame,
      {.from_port = 0x1234, .to_port = 0x5678, .traffic_class = 0xba, .hop_limit = 9, .id = 0x0102},
      {std::byte{0xab}, std::byte{0xcd}, std::byte{0xef}});
  const std::vector<uint8_t> expected = {
      2,    0,    0,    0,    0,    2,    2,    0,    0,    0,  0,    1,     // MAC
      0x88, 0xa8, 0,    3,    0x81, 0,    0x01, 0x23, 0x08, 0,               // tags, type
      0x45, 0xba, 0,    31,   0x01, 0x02, 0x40, 0,    9,    17, 0x5c, 0x10,  // IPv4
      10,   0,    0,    1,    10,   0,    0,    2,                           //
      0x12, 0x34, 0x56, 0x78, 0,    11,   0xe8, 0x5a,                        // UDP
      0xab, 0xcd, 0xef};
  ASSERT_EQ(built.size(), expected.size());
  EXPECT_EQ(std::memcmp(built.data(), expected.data(), expected.size()), 0)
      << testing::PrintToString(built);
}

TEST(XdpFrameTest, WhatIsBuiltIsParsedWithEveryTagAndProtocol) {
  const std::vector<std::vector<VlanTag>> stacks = {{}, {{0x8100, 5}}, {{0x88a8, 5}, {0x8100, 6}}};
  for (const auto& tags : stacks) {
    for (const bool six : {false, true}) {
      for (const size_t bytes : {1u, 2u, 31u, 44u, 1472u, 8932u}) {
        const auto from = address(six ? "fd00::1" : "10.0.0.1", 50001);
        const auto to = address(six ? "fd00::2" : "10.0.0.2", kPort);
        const Frame payload = payload_of(bytes);
        const Frame frame =
            build(make_frame_template(link_with(tags), from, to),
                  {.from_port = from.port, .to_port = to.port, .traffic_class = 0x02}, payload);
        ParsedFrame parsed;
        ASSERT_EQ(parse(frame, parsed), FrameFault::kNone);
        EXPECT_EQ(parsed.from, from);
        EXPECT_EQ(parsed.ecn, transport::Ecn::kEct0);
        ASSERT_EQ(parsed.payload_bytes, bytes);
        EXPECT_FALSE(parsed.checked);
        EXPECT_TRUE(checksum_holds(frame, parsed));
        EXPECT_EQ(std::memcmp(frame.data() + parsed.payload_at, payload.data(), bytes), 0);
      }
    }
  }
}

TEST(XdpFrameTest, EveryFlippedBitOfIpUdpAndPayloadIsNoticed) {
  for (const bool six : {false, true}) {
    const Frame good = six ? ipv6_frame(50) : ipv4_frame(50);
    for (size_t bit = kEthernetBytes * 8; bit < good.size() * 8; ++bit) {
      Frame bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      // IPv6 protects neither its traffic class and flow label nor its hop limit.
      const bool unprotected = six && (bit / 8 < kEthernetBytes + 4 || bit / 8 == 14 + 7);
      ParsedFrame parsed;
      const bool accepted = parse(bad, parsed) == FrameFault::kNone && checksum_holds(bad, parsed);
      EXPECT_TRUE(unprotected || !accepted) << "bit " << bit;
    }
  }
}

TEST(XdpFrameTest, EthernetPaddingIsNoPayload) {
  Frame frame = ipv4_frame(3);
  frame.resize(60);
  ParsedFrame parsed;
  ASSERT_EQ(parse(frame, parsed), FrameFault::kNone);
  EXPECT_EQ(parsed.payload_bytes, 3u);
  EXPECT_TRUE(checksum_holds(frame, parsed));
}

TEST(XdpFrameTest, AChecksumThatTheKernelLeftUnfinishedIsAccepted) {
  for (const bool six : {false, true}) {
    Frame frame = six ? ipv6_frame() : ipv4_frame();
    const size_t udp = six ? 54 : 34;
    ChecksumSum pseudo;
    pseudo.add(std::span(frame).subspan(six ? 22 : 26, six ? 32 : 8));
    pseudo.add_word(17);
    pseudo.add_word(108);
    const uint16_t partial = pseudo.folded();
    std::memcpy(frame.data() + udp + 6, &partial, sizeof partial);
    ParsedFrame parsed;
    ASSERT_EQ(parse(frame, parsed), FrameFault::kNone);
    EXPECT_TRUE(parsed.checked);
  }
}

TEST(XdpFrameTest, OnlyIpv4MayOmitTheChecksum) {
  Frame four = ipv4_frame();
  Frame six = ipv6_frame();
  four[40] = four[41] = six[60] = six[61] = std::byte{0};
  ParsedFrame parsed;
  EXPECT_EQ(parse(four, parsed), FrameFault::kNone);
  EXPECT_TRUE(parsed.checked);
  EXPECT_EQ(parse(six, parsed), FrameFault::kChecksum);
}

TEST(XdpFrameTest, LinkLocalSendersHaveTheInterfaceAsScope) {
  const Frame frame =
      build(make_frame_template(link_with(), address("fe80::1"), address("fe80::2")),
            {.from_port = 1, .to_port = kPort}, payload_of(4));
  ParsedFrame parsed;
  ASSERT_EQ(parse(frame, parsed), FrameFault::kNone);
  EXPECT_EQ(parsed.from.scope, 7u);
}

TEST(XdpFrameTest, EveryTruncationIsRejected) {
  for (const Frame& whole : {ipv4_frame(20), ipv6_frame(20)}) {
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      ParsedFrame parsed;
      EXPECT_NE(parse(Frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)), parsed),
                FrameFault::kNone)
          << bytes;
    }
  }
}

TEST(XdpFrameTest, ForeignFramesAreNamed) {
  const auto changed = [](size_t at, int value) {
    Frame frame = ipv4_frame();
    frame[at] = static_cast<std::byte>(value);
    return frame;
  };
  ParsedFrame parsed;
  EXPECT_EQ(parse(changed(13, 6), parsed), FrameFault::kForeign) << "ARP";
  EXPECT_EQ(parse(changed(14, 0x46), parsed), FrameFault::kForeign) << "options";
  EXPECT_EQ(parse(changed(23, 6), parsed), FrameFault::kForeign) << "TCP";
  EXPECT_EQ(parse(changed(20, 0x20), parsed), FrameFault::kForeign) << "more fragments";
  EXPECT_EQ(parse(changed(21, 1), parsed), FrameFault::kForeign) << "a later fragment";
  EXPECT_EQ(parse(changed(36, 0), parsed), FrameFault::kForeign) << "another port";
  EXPECT_EQ(parse(ipv4_frame(0), parsed), FrameFault::kEmpty);
  for (const char* source : {"127.0.0.1", "224.0.0.1", "0.0.0.0"}) {
    const Frame frame =
        build(make_frame_template(link_with(), address(source), address("10.0.0.2")),
              {.from_port = 1, .to_port = kPort}, payload_of(4));
    EXPECT_EQ(parse(frame, parsed), FrameFault::kForeign) << source;
  }
  Frame mapped = ipv6_frame();
  const transport::Address four = address("10.0.0.1");
  std::memcpy(mapped.data() + 22, four.host.data(), 16);
  EXPECT_EQ(parse(mapped, parsed), FrameFault::kForeign) << "a mapped source";
}

TEST(XdpFrameTest, TheUdpChecksumIsNeverZero) {
  // A payload whose checksum would be zero: the complement of the sum of everything else.
  const FrameTemplate frame =
      make_frame_template(link_with(), address("10.0.0.1"), address("10.0.0.2"));
  Frame payload(2);
  Frame built = build(frame, {.from_port = 9, .to_port = kPort}, payload);
  std::memcpy(payload.data(), built.data() + 40, 2);
  built = build(frame, {.from_port = 9, .to_port = kPort}, payload);
  EXPECT_EQ(built[40], std::byte{0xff});
  EXPECT_EQ(built[41], std::byte{0xff});
  ParsedFrame parsed;
  ASSERT_EQ(parse(built, parsed), FrameFault::kNone);
  EXPECT_TRUE(checksum_holds(built, parsed));
}

TEST(XdpFrameTest, FragmentationIsForbiddenUnlessAllowed) {
  const FrameTemplate frame =
      make_frame_template(link_with(), address("10.0.0.1"), address("10.0.0.2"));
  EXPECT_EQ(build(frame, {.to_port = kPort}, payload_of(4))[20], std::byte{0x40});
  EXPECT_EQ(build(frame, {.to_port = kPort, .may_fragment = true}, payload_of(4))[20],
            std::byte{0});
}

}  // namespace
}  // namespace heddle::datapath
