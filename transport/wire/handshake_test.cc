// Behaviour of the packets that make a connection: round trips, malformed ones, and other versions.
#include "transport/wire/handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "transport/wire/cursor.h"

namespace heddle::transport {
namespace {

using Space = std::array<std::byte, kInitBytes>;
// The parameters of an init follow its fixed fields.
constexpr size_t kInitParametersAt = 8 + 8 + 8 + 2 + 8 + 1 + kCookieBytes;
constexpr size_t kAcceptParametersAt = 8 + 8 + 4 + 8 + 2 + 8;

const std::vector<std::byte> kNics(kMaxNics* kHostBytes, std::byte{0xa5});

HandshakeParameters sample_parameters() {
  HandshakeParameters p;
  p.nics = kNics;
  p.max_paths = 256;
  p.max_datagram_bytes = 8952;
  p.window_bytes = UINT64_C(1) << 33;
  p.max_channels = 64;
  p.max_posted = 4096;
  p.eager_block_bytes = 8192;
  p.eager_blocks = 16;
  p.chunk_paths = 4;
  p.chunk_bytes = 65536;
  p.features = UINT64_C(1) << 63;
  std::strcpy(p.congestion.data(), "exactly15letter");
  return p;
}

InitPacket sample_init() {
  InitPacket packet;
  packet.reply_port = 4791;
  packet.connection = 0x80000001;
  packet.wire_id = 0x8000000000000001;
  packet.nonce = 0xfedcba9876543210;
  packet.sent_at = Nanos{987654321};
  packet.has_cookie = true;
  for (size_t i = 0; i < kCookieBytes; ++i) packet.cookie[i] = std::byte(i);
  packet.parameters = sample_parameters();
  return packet;
}

void expect_same(const HandshakeParameters& a, const HandshakeParameters& b) {
  EXPECT_EQ(a.max_paths, b.max_paths);
  EXPECT_EQ(a.max_datagram_bytes, b.max_datagram_bytes);
  EXPECT_EQ(a.window_bytes, b.window_bytes);
  EXPECT_EQ(a.max_channels, b.max_channels);
  EXPECT_EQ(a.max_posted, b.max_posted);
  EXPECT_EQ(a.eager_block_bytes, b.eager_block_bytes);
  EXPECT_EQ(a.eager_blocks, b.eager_blocks);
  EXPECT_EQ(a.chunk_paths, b.chunk_paths);
  EXPECT_EQ(a.chunk_bytes, b.chunk_bytes);
  EXPECT_EQ(a.features, b.features);
  EXPECT_STREQ(a.congestion.data(), b.congestion.data());
  EXPECT_TRUE(std::equal(a.nics.begin(), a.nics.end(), b.nics.begin(), b.nics.end()));
}

// An init whose parameters are what `write` writes.
template <typename Write>
Space init_with_parameters(Write write) {
  Space space;
  write_init(sample_init(), space);
  std::memset(space.data() + kInitParametersAt, 0, space.size() - kInitParametersAt);
  Writer writer{std::span(space).subspan(kInitParametersAt)};
  write(writer);
  return space;
}

template <typename Packet>
void expect_rejected_when_cut(std::span<const std::byte> bytes,
                              bool (*read)(std::span<const std::byte>, Packet&)) {
  for (size_t length = 8; length < bytes.size(); ++length) {
    Packet packet;
    EXPECT_FALSE(read(bytes.first(length), packet)) << length;
  }
}

TEST(InitTest, EveryFieldSurvivesAndTheSizeIsFixed) {
  Space space;
  space.fill(std::byte{0xcc});
  ASSERT_EQ(write_init(sample_init(), space), kInitBytes);
  EXPECT_EQ(space.back(), std::byte{0});
  InitPacket read;
  ASSERT_TRUE(read_init(space, read));
  EXPECT_EQ(read.reply_port, 4791);
  EXPECT_EQ(read.connection, 0x80000001u);
  EXPECT_EQ(read.wire_id, 0x8000000000000001u);
  EXPECT_EQ(read.nonce, 0xfedcba9876543210u);
  EXPECT_EQ(read.sent_at, Nanos{987654321});
  EXPECT_TRUE(read.has_cookie);
  EXPECT_EQ(read.cookie, sample_init().cookie);
  expect_same(read.parameters, sample_parameters());
  expect_rejected_when_cut(space, read_init);
}

TEST(InitTest, ShorterThanItsAnswersMayBeIsRejected) {
  Space space;
  write_init(sample_init(), space);
  InitPacket read;
  EXPECT_FALSE(read_init(std::span(space).first(kInitBytes - 1), read));
}

TEST(InitTest, WithoutAnIdOrAPortItIsRejected) {
  InitPacket without_id = sample_init();
  without_id.connection = 0;
  InitPacket without_port = sample_init();
  without_port.reply_port = 0;
  InitPacket without_wire_id = sample_init();
  without_wire_id.wire_id = 0;
  for (const InitPacket& packet : {without_id, without_port, without_wire_id}) {
    Space space;
    write_init(packet, space);
    InitPacket read;
    EXPECT_FALSE(read_init(space, read));
  }
}

TEST(ParametersTest, UnknownOnesAreSkipped) {
  const Space space = init_with_parameters([](Writer& writer) {
    writer.put(uint16_t{700}).put(uint16_t{5}).put_zeros(5);     // of a later version
    writer.put(uint16_t{1}).put(uint16_t{2}).put(uint16_t{12});  // paths
    writer.put(uint16_t{701}).put(uint16_t{0});
    writer.put(uint16_t{4}).put(uint16_t{4}).put(uint32_t{3});  // channels
    writer.put(uint16_t{5}).put(uint16_t{4}).put(uint32_t{2});  // posted
    writer.put(uint16_t{65535}).put(uint16_t{1}).put(uint8_t{1});
  });
  InitPacket read;
  ASSERT_TRUE(read_init(space, read));
  EXPECT_EQ(read.parameters.max_paths, 12);
  EXPECT_EQ(read.parameters.max_channels, 3u);
  EXPECT_EQ(read.parameters.max_posted, 2u);
  EXPECT_EQ(read.parameters.eager_blocks, 0);  // what was not said is what takes nothing
}

// The other side remembers as many receives.
TEST(InitTest, AnInitWithAPostLimitOutOfRangeIsRefused) {
  for (const uint32_t posted : {0u, kMostPosted + 1, UINT32_MAX}) {
    const Space space = init_with_parameters([posted](Writer& writer) {
      writer.put(uint16_t{1}).put(uint16_t{2}).put(uint16_t{12});
      writer.put(uint16_t{4}).put(uint16_t{4}).put(uint32_t{3});
      writer.put(uint16_t{5}).put(uint16_t{4}).put(posted);
    });
    InitPacket read;
    EXPECT_FALSE(read_init(space, read)) << posted;
  }
}

TEST(ParametersTest, AKnownOneOfAnotherLengthIsRejected) {
  for (uint16_t type = 1; type <= 8; ++type) {
    for (const uint16_t length : {uint16_t{0}, uint16_t{1}, uint16_t{3}, uint16_t{9}}) {
      const Space space = init_with_parameters([&](Writer& writer) {
        writer.put(uint16_t{1}).put(uint16_t{2}).put(uint16_t{1});
        writer.put(uint16_t{4}).put(uint16_t{4}).put(uint32_t{1});
        writer.put(uint16_t{5}).put(uint16_t{4}).put(uint32_t{1});
        writer.put(type).put(length).put_zeros(length);
      });
      InitPacket read;
      EXPECT_FALSE(read_init(space, read)) << type << " of " << length;
    }
  }
}

TEST(ParametersTest, NicsAreWholeAddressesAndNotTooMany) {
  for (const size_t bytes : {0u, 1u, 15u, 17u, 16u * 9, 16u, 32u, 128u}) {
    const Space space = init_with_parameters([bytes](Writer& writer) {
      writer.put(uint16_t{21}).put(static_cast<uint16_t>(bytes)).put_zeros(bytes);
      for (const uint16_t type : {1, 4, 5}) {
        writer.put(type).put(static_cast<uint16_t>(type == 1 ? 2 : 4)).put(uint16_t{1});
        if (type != 1) writer.put(uint16_t{0});
      }
      writer.put(uint16_t{0});
    });
    InitPacket packet;
    const bool good = bytes > 0 && bytes % kHostBytes == 0 && bytes <= kMaxNics * kHostBytes;
    EXPECT_EQ(read_init(space, packet), good) << bytes << " bytes";
    EXPECT_EQ(good ? packet.parameters.nics.size() : bytes, bytes);
  }
}

TEST(ParametersTest, ANameTooLongIsRejected) {
  for (const uint16_t length : {uint16_t{15}, uint16_t{16}}) {
    const Space space = init_with_parameters([&](Writer& writer) {
      writer.put(uint16_t{4}).put(uint16_t{4}).put(uint32_t{1});
      writer.put(uint16_t{5}).put(uint16_t{4}).put(uint32_t{1});
      writer.put(uint16_t{9}).put(length);
      for (uint16_t i = 0; i < length; ++i) writer.put(uint8_t{'a'});
    });
    InitPacket read;
    EXPECT_EQ(read_init(space, read), length == 15) << length;
  }
}

TEST(ParametersTest, OnesThatRunPastThePacketAreRejected) {
  const Space space = init_with_parameters(
      [](Writer& writer) { writer.put(uint16_t{700}).put(uint16_t{UINT16_MAX}); });
  InitPacket read;
  EXPECT_FALSE(read_init(space, read));
}

TEST(ParametersTest, WithoutAnEndTheyAreRejected) {
  const Space space = init_with_parameters([](Writer& writer) {
    while (writer.left() >= 4) writer.put(uint16_t{700}).put(uint16_t{0});
    while (writer.left() > 0) writer.put(uint8_t{7});
  });
  InitPacket read;
  EXPECT_FALSE(read_init(space, read));
}

TEST(ParametersTest, APeerThatTakesNothingIsRejected) {
  for (const uint16_t missing : {uint16_t{1}, uint16_t{4}, uint16_t{5}}) {
    const Space space = init_with_parameters([&](Writer& writer) {
      writer.put(uint16_t{1}).put(uint16_t{2}).put(uint16_t{missing != 1});
      writer.put(uint16_t{4}).put(uint16_t{4}).put(uint32_t{missing != 4});
      writer.put(uint16_t{5}).put(uint16_t{4}).put(uint32_t{missing != 5});
    });
    InitPacket read;
    EXPECT_FALSE(read_init(space, read)) << missing;
  }
}

// What a side of any version can rely on: the id, nonce and port of a later version's init stand
// where ours do, so that it can be answered although nothing behind them can be read.
TEST(VersionsTest, AnInitOfALaterVersionCanBeAnswered) {
  Space space;
  write_init(sample_init(), space);
  space[0] = std::byte{first_byte(PacketType::kInit, 2)};
  std::memset(space.data() + 26, 0xff, space.size() - 26);
  InitPacket read;
  EXPECT_FALSE(read_init(space, read));
  EXPECT_EQ(read.connection, 0x80000001u);
  EXPECT_EQ(read.nonce, 0xfedcba9876543210u);
  EXPECT_EQ(read.reply_port, 4791);
}

TEST(VersionsTest, TheAnswerSurvives) {
  Space space;
  const size_t length = write_version({77, 78, 1, 3}, space);
  VersionPacket read;
  ASSERT_TRUE(read_version(std::span(space).first(length), read));
  EXPECT_EQ(read.connection, 77u);
  EXPECT_EQ(read.nonce, 78u);
  EXPECT_EQ(read.lowest, 1);
  EXPECT_EQ(read.highest, 3);
  expect_rejected_when_cut(std::span(space).first(length), read_version);
}

TEST(AcceptTest, EveryFieldSurvives) {
  AcceptPacket packet;
  packet.reply_port = 9;
  packet.connection = 3;
  packet.accepted_as = 4;
  packet.wire_id = 0xaabbccdd00112233;
  packet.nonce = 5;
  packet.echoed_sent_at = Nanos{6};
  packet.parameters = sample_parameters();
  Space space;
  const size_t length = write_accept(packet, space);
  AcceptPacket read;
  ASSERT_TRUE(read_accept(std::span(space).first(length), read));
  EXPECT_EQ(read.reply_port, 9);
  EXPECT_EQ(read.connection, 3u);
  EXPECT_EQ(read.accepted_as, 4u);
  EXPECT_EQ(read.wire_id, 0xaabbccdd00112233u);
  EXPECT_EQ(read.nonce, 5u);
  EXPECT_EQ(read.echoed_sent_at, Nanos{6});
  expect_same(read.parameters, sample_parameters());
  expect_rejected_when_cut(std::span(space).first(length), read_accept);
}

TEST(AcceptTest, WithoutAnIdOrAPortItIsRejected) {
  AcceptPacket packet;
  packet.parameters = sample_parameters();
  for (int missing = 0; missing < 3; ++missing) {
    packet.reply_port = missing == 0 ? 0 : 1;
    packet.accepted_as = missing == 1 ? 0 : 1;
    packet.wire_id = missing == 2 ? 0 : 1;
    Space space;
    const size_t length = write_accept(packet, space);
    AcceptPacket read;
    EXPECT_FALSE(read_accept(std::span(space).first(length), read));
  }
}

TEST(AcceptTest, IsNotLargerThanTheInitThatItAnswers) {
  AcceptPacket packet;
  packet.parameters = sample_parameters();
  Space space;
  EXPECT_LT(write_accept(packet, space), kInitBytes - kAcceptParametersAt);
}

TEST(RetryTest, EveryFieldSurvives) {
  Space space;
  const size_t length = write_retry({11, 12, sample_init().cookie}, space);
  RetryPacket read;
  ASSERT_TRUE(read_retry(std::span(space).first(length), read));
  EXPECT_EQ(read.connection, 11u);
  EXPECT_EQ(read.nonce, 12u);
  EXPECT_EQ(read.cookie, sample_init().cookie);
  expect_rejected_when_cut(std::span(space).first(length), read_retry);
}

TEST(RefuseTest, SurvivesForEveryReasonAndRejectsUnknownOnes) {
  Space space;
  size_t length = 0;
  for (const RefuseReason reason :
       {RefuseReason::kNotAccepting, RefuseReason::kFull, RefuseReason::kCongestionUnknown,
        RefuseReason::kDatagramsTooSmall, RefuseReason::kNoKeys, RefuseReason::kDemandsHeaders,
        RefuseReason::kDemandsFull, RefuseReason::kEnded}) {
    length = write_refuse({21, 22, reason}, space);
    RefusePacket read;
    ASSERT_TRUE(read_refuse(std::span(space).first(length), read));
    EXPECT_EQ(read.connection, 21u);
    EXPECT_EQ(read.nonce, 22u);
    EXPECT_EQ(read.reason, reason);
  }
  expect_rejected_when_cut(std::span(space).first(length), read_refuse);
  space[length - 1] = std::byte{8};
  RefusePacket read;
  EXPECT_FALSE(read_refuse(std::span(space).first(length), read));
}

TEST(ResetTest, Survives) {
  Space space;
  const size_t length = write_reset({0x123456789abcdef0, 9, 1u << 31}, space);
  EXPECT_EQ(length, 20u);
  ResetPacket read;
  ASSERT_TRUE(read_reset(std::span(space).first(length), read));
  EXPECT_EQ(read.connection, 0x123456789abcdef0u);
  EXPECT_EQ(read.path, 9);
  EXPECT_EQ(read.number, 1u << 31);
  EXPECT_FALSE(read_reset(std::span(space).first(length - 1), read));
}

}  // namespace
}  // namespace heddle::transport
