// Tags of data headers: they are the CMAC of SP 800-38B, alone or in a burst, and cover every bit
// of each header and how much payload follows.
#include "transport/security/header_tags.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <string>
#include <vector>

#include "transport/wire/cursor.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kStride = kDataHeaderBytes + kTagBytes;
constexpr uint32_t kStep = 1400;

class HeaderTagsTest : public ::testing::Test {
 protected:
  HeaderTagsTest() {
    for (size_t i = 0; i < key_.size(); ++i) key_[i] = static_cast<std::byte>(3 * i + 1);
    tags_ = std::make_unique<HeaderTags>(key_);
  }

  static HeaderTags::Burst burst(uint32_t segments, uint32_t last = kStep) {
    return {segments, kStride, segments > 1 ? kStep : last, last};
  }
  static std::vector<std::byte> headers(uint32_t segments) {
    DataHeader first;
    first.base.type = PacketType::kData;
    first.base.flags = kFlagAckNow | 3 << 4;
    first.base.path = 7;
    first.base.connection = 0x12345678;
    first.base.number = (uint64_t{1} << 40) - 2;  // the burst carries into another byte
    first.base.sent_at = Nanos{123456789};
    first.base.reply_port = 4791;
    first.channel = 5;
    first.sequence = kFirstSequence;
    first.offset = 0x10000 - kStep;
    first.message_bytes = 1 << 20;
    std::vector<std::byte> bytes(size_t{segments} * kStride);
    write_data_headers(first, segments, {kStep, kStride}, bytes.data());
    return bytes;
  }
  std::vector<std::byte> tagged(uint32_t segments) {
    std::vector<std::byte> bytes = headers(segments);
    tags_->write(burst(segments), bytes.data());
    return bytes;
  }

  // OpenSSL's own, over what header_tags.h says is covered.
  std::array<std::byte, kTagBytes> openssl_cmac(const std::byte* header, uint32_t payload_bytes) {
    constexpr size_t kCommon = (kDataHeaderBytes + 15) / 16 * 16;
    std::vector<std::byte> text(kCommon + 16);
    std::memcpy(text.data(), header, kDataHeaderBytes);
    Writer end({text.data() + kCommon, 16});
    end.put_bytes({header + kNumberAt, 8}).put_bytes({header + kOffsetAt, 4});
    end.put(static_cast<uint16_t>(payload_bytes)).put_bytes({header + kFlagsAt, 1});
    text[kFlagsAt] = std::byte{0};
    std::memset(text.data() + kNumberAt, 0, 8);
    std::memset(text.data() + kOffsetAt, 0, 4);
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "CMAC", nullptr);
    EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
    char cipher[] = "AES-256-CBC";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
                                 OSSL_PARAM_construct_end()};
    std::array<std::byte, kTagBytes> tag{};
    size_t length = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    EXPECT_EQ(EVP_MAC_init(context, reinterpret_cast<const unsigned char*>(key_.data()),
                           key_.size(), params),
              1);
    EXPECT_EQ(EVP_MAC_update(context, bytes, text.size()), 1);
    EXPECT_EQ(
        EVP_MAC_final(context, reinterpret_cast<unsigned char*>(tag.data()), &length, tag.size()),
        1);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    return tag;
  }

  std::array<std::byte, HeaderTags::kKeyBytes> key_{};
  std::unique_ptr<HeaderTags> tags_;
};

TEST_F(HeaderTagsTest, AreTheCmacThatOpensslMakes) {
  for (uint8_t seed = 0; seed < 8; ++seed) {  // subkeys with a carry and without
    key_[0] = std::byte{seed};
    tags_ = std::make_unique<HeaderTags>(key_);
    for (const uint32_t segments : {1u, 2u, 5u, 64u}) {
      const std::vector<std::byte> bytes = tagged(segments);
      for (uint32_t i = 0; i < segments; ++i) {
        const std::byte* header = bytes.data() + size_t{i} * kStride;
        const auto expected = openssl_cmac(header, kStep);
        EXPECT_EQ(std::memcmp(header + kDataHeaderBytes, expected.data(), kTagBytes), 0)
            << int{seed} << ": " << i << " of " << segments;
      }
    }
  }
}

TEST_F(HeaderTagsTest, ARowIsGenuineWholeInPartsAndOneByOne) {
  std::vector<std::byte> bytes = tagged(9);
  EXPECT_EQ(tags_->check(burst(9), bytes.data()), 0x1FFU);
  EXPECT_EQ(tags_->check(burst(4), bytes.data() + 3 * kStride), 0xFU);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(tags_->check(burst(1), bytes.data() + i * kStride), 1U);
  }
}

TEST_F(HeaderTagsTest, AnyBitOfAnyHeaderOrTagSpoilsThatOneAlone) {
  const std::vector<std::byte> genuine = tagged(3);
  for (size_t bit = 0; bit < 8 * genuine.size(); ++bit) {
    std::vector<std::byte> bytes = genuine;
    bytes[bit / 8] ^= std::byte(1U << bit % 8);
    const size_t segment = bit / 8 / kStride;
    for (size_t i = 0; i < 3; ++i) {
      const bool alone = tags_->check(burst(1), bytes.data() + i * kStride) == 1;
      EXPECT_EQ(alone, i != segment) << "bit " << bit;
    }
    // In a burst nothing that was changed is genuine either, be it the first, which others follow.
    EXPECT_EQ(tags_->check(burst(3), bytes.data()) >> segment & 1, 0U) << "bit " << bit;
  }
}

TEST_F(HeaderTagsTest, TheLengthOfThePayloadIsCovered) {
  std::vector<std::byte> bytes = tagged(2);
  EXPECT_EQ(tags_->check(burst(2, kStep - 1), bytes.data()), 1U);
  EXPECT_EQ(tags_->check({2, kStride, kStep + 1, kStep}, bytes.data()), 2U);
  EXPECT_EQ(tags_->check(burst(1, 0), bytes.data()), 0U);
}

TEST_F(HeaderTagsTest, AnotherKeyMakesOthers) {
  std::vector<std::byte> bytes = tagged(2);
  key_[31] ^= std::byte{1};
  HeaderTags other(key_);
  EXPECT_EQ(other.check(burst(2), bytes.data()), 0U);
}

}  // namespace
}  // namespace heddle::transport
