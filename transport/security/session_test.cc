// Sessions: both sides have the same keys, each direction its own; keys change when the peer has
// the current one; packets without a number are taken once.
#include "transport/security/session.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

constexpr uint64_t kLimit = 10;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : key_(ClusterKey{}), left_(key_, names_, true), right_(key_, names_, false) {}

  // An encrypted control packet with this number.
  std::vector<std::byte> encrypt(Session& from, uint64_t number, uint32_t packets = 1) {
    PacketKey& key = from.send_key(packets, kLimit, retired_);
    ConnectionHeader header;
    header.flags = static_cast<uint8_t>(kFlagNumbered | from.epoch_flags());
    header.number = number;
    std::vector<std::byte> clear(kConnectionHeaderBytes + 20, std::byte{7});
    write_connection_header(header, clear.data());
    std::vector<std::byte> packet(clear.size() + kTagBytes);
    encrypt_segment(key, clear, {}, packet.data());
    return packet;
  }
  static bool decrypt(Session& at, std::vector<std::byte> packet) {
    const auto flags = static_cast<uint8_t>(packet[kFlagsAt]);
    PacketKey* key = at.receive_key(flags);
    if (key == nullptr || !decrypt_segment(*key, packet)) return false;
    at.note_authentic(flags);
    return packet[kConnectionHeaderBytes] == std::byte{7};
  }

  SessionNames names_;
  RingKey key_;
  RetiredKeys retired_;
  Session left_;
  Session right_;
};

TEST_F(SessionTest, EachSideDecryptsThePacketsOfTheOtherAndNotItsOwn) {
  EXPECT_TRUE(decrypt(right_, encrypt(left_, 1)));
  EXPECT_TRUE(decrypt(left_, encrypt(right_, 1)));
  EXPECT_FALSE(decrypt(left_, encrypt(left_, 2)));
}

TEST_F(SessionTest, EveryNameAndTheClusterKeyCount) {
  std::vector<SessionNames> others(5, names_);
  others[0].initiator_nonce[15] = std::byte{1};
  others[1].acceptor_nonce[0] = std::byte{1};
  others[2].initiator_id = 1;
  others[3].acceptor_id = 1;
  others[4].protection = Protection::kHeaders;
  for (const SessionNames& names : others) {
    Session other(key_, names, false);
    EXPECT_FALSE(decrypt(other, encrypt(left_, 1)));
  }
  ClusterKey changed;
  changed.secret[31] = std::byte{1};
  const RingKey ring(changed);
  Session other(ring, names_, false);
  EXPECT_FALSE(decrypt(other, encrypt(left_, 1)));
}

TEST_F(SessionTest, TheKeyChangesAfterItsPacketsOnceThePeerHasIt) {
  EXPECT_TRUE(decrypt(right_, encrypt(left_, 1, kLimit)));
  EXPECT_TRUE(decrypt(right_, encrypt(left_, 2)));
  EXPECT_EQ(left_.epoch_flags(), 0) << "nothing has shown that the peer has the first key";
  EXPECT_TRUE(left_.wants_proof(kLimit));
  left_.prove();
  EXPECT_TRUE(decrypt(right_, encrypt(left_, 3)));
  EXPECT_EQ(left_.epoch_flags(), 1 << 4);
  EXPECT_EQ(retired_.size(), 1U);
}

TEST_F(SessionTest, ManyKeysFollowEachOtherAndTheLatestTwoAreOpened) {
  std::vector<std::byte> before;
  std::vector<std::byte> long_before;
  for (uint64_t number = 1; number < 40; ++number) {
    left_.prove();
    const std::vector<std::byte> packet = encrypt(left_, number, kLimit + 1);
    EXPECT_TRUE(decrypt(right_, packet)) << number;
    EXPECT_TRUE(number < 2 || decrypt(right_, before)) << number;
    EXPECT_FALSE(number > 2 && decrypt(right_, long_before)) << number;
    long_before = before;
    before = packet;
  }
}

TEST_F(SessionTest, AForgedEpochMovesNothing) {
  std::vector<std::byte> packet = encrypt(left_, 1);
  packet[kFlagsAt] |= std::byte{0x10};
  EXPECT_FALSE(decrypt(right_, packet));
  packet[kFlagsAt] |= std::byte{0x50};
  EXPECT_FALSE(decrypt(right_, packet));
  EXPECT_TRUE(decrypt(right_, encrypt(left_, 2)));
}

TEST_F(SessionTest, PacketsWithoutANumberAreNewOnce) {
  EXPECT_FALSE(right_.is_new(0));
  for (const uint64_t number : {5, 3, 4, 260, 100, 1000, 700, 999}) {
    const bool old = number == 700;
    EXPECT_EQ(right_.is_new(number), !old) << number;
    if (!old) right_.note_unnumbered(number);
    EXPECT_FALSE(right_.is_new(number)) << number;
  }
  EXPECT_TRUE(right_.is_new(998));
  EXPECT_TRUE(right_.is_new(745));
  EXPECT_FALSE(right_.is_new(744)) << "older than what is remembered";
}

TEST_F(SessionTest, HeadersHaveTagsOfTheirOwnEpoch) {
  names_.protection = Protection::kHeaders;
  Session left(key_, names_, true);
  Session right(key_, names_, false);
  EXPECT_EQ(left_.tags(), nullptr) << "with full protection data is encrypted";
  EXPECT_EQ(right_.receive_tags(0), nullptr);
  std::vector<std::byte> first;
  for (uint64_t number = 1; number < 20; ++number) {
    left.prove();
    left.send_key(kLimit + 1, kLimit, retired_);
    DataHeader header;
    header.base.type = PacketType::kData;
    header.base.flags = left.epoch_flags();
    header.base.number = number;
    std::vector<std::byte> packet(kDataHeaderBytes + kTagBytes);
    write_data_header(header, packet.data());
    const HeaderTags::Burst burst{.stride = kDataHeaderBytes + kTagBytes};
    left.tags()->write(burst, packet.data());
    HeaderTags* tags = right.receive_tags(header.base.flags);
    ASSERT_NE(tags, nullptr) << number;
    EXPECT_EQ(tags->check(burst, packet.data()), 1U) << number;
    right.note_authentic(header.base.flags);
    if (number == 1) first = packet;
    if (number == 17) {
      EXPECT_EQ(right.receive_tags(0)->check(burst, first.data()), 0U)
          << "the epochs of flags wrap, and keys do not come again";
    }
  }
}

// The memory that keys add to an idle connection, OpenSSL's own included; the limits are in
// docs/explanation/security.md.
TEST_F(SessionTest, TakesNoMoreThanItsBound) {
  constexpr size_t kSessions = 1000;
  for (const Protection protection : {Protection::kFull, Protection::kHeaders}) {
    names_.protection = protection;
    std::vector<std::unique_ptr<Session>> sessions(kSessions);
    const size_t before = mallinfo2().uordblks;
    for (auto& session : sessions) session = std::make_unique<Session>(key_, names_, true);
    const size_t each = (mallinfo2().uordblks - before) / kSessions;
    if (each == 0) GTEST_SKIP() << "this build's allocator does not tell";
    std::printf("[ MEASURED ] a session's keys, %s: %zu bytes\n", name_of(protection).data(), each);
    EXPECT_LE(each, protection == Protection::kFull ? 3072U : 4608U);
  }
}

}  // namespace
}  // namespace heddle::transport
