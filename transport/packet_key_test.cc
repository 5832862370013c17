// The cipher against published vectors, and what a encrypted segment covers.
#include "transport/packet_key.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

std::vector<std::byte> bytes(const std::string& hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

// The GCM specification (McGrew and Viega), test case 16: AES-256 with associated data.
TEST(PacketKey, IsAesGcmOfThePublishedVector) {
  const auto key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const auto iv = bytes("cafebabefacedbaddecaf888");
  const auto covered = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const auto text = bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6"
      "b525b16aedf5aa0de657ba637b39");
  const auto encrypted = bytes(
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b105682"
      "8"
      "838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b");
  const std::span<const std::byte, 32> key_bytes(key.data(), 32);
  const std::span<const std::byte, 12> iv_bytes(iv.data(), 12);
  PacketKey encryptor(key_bytes, iv_bytes, PacketKey::Use::kEncrypt);
  PacketKey::Nonce nonce;
  std::copy(iv.begin(), iv.end(), nonce.begin());
  std::vector<std::byte> out(text.size() + kTagBytes);
  encryptor.encrypt(nonce, {covered, {}, text, {}}, out.data());
  EXPECT_EQ(out, encrypted);
  // In two pieces it is the same.
  const std::span<const std::byte> all(text);
  const std::span<const std::byte> head(covered);
  encryptor.encrypt(nonce, {head.first(5), head.subspan(5), all.first(13), all.subspan(13)},
                    out.data());
  EXPECT_EQ(out, encrypted);
  PacketKey decryptor(key_bytes, iv_bytes, PacketKey::Use::kDecrypt);
  ASSERT_TRUE(decryptor.decrypt(nonce, covered, {}, out, out.data()));
  EXPECT_TRUE(std::equal(text.begin(), text.end(), out.begin()));
  EXPECT_FALSE(decryptor.decrypt(nonce, covered, {}, out, out.data()));
}

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() {
    header_.base.type = PacketType::kData;
    header_.base.number = 77;
    header_.base.path = 3;
    write_data_header(header_, clear_.data());
  }

  DataHeader header_;
  std::array<std::byte, kDataHeaderBytes> clear_{};
  std::array<std::byte, PacketKey::kKeyBytes> key_{std::byte{1}};
  std::array<std::byte, PacketKey::kIvBytes> iv_{std::byte{2}};
  PacketKey encryptor_{key_, iv_, PacketKey::Use::kEncrypt};
  PacketKey decryptor_{key_, iv_, PacketKey::Use::kDecrypt};
};

TEST_F(SegmentTest, OpensWhereItStands) {
  for (const size_t length : {0, 1, 15, 16, 17, 9000}) {
    const std::vector<std::byte> payload(length, std::byte{0x33});
    std::vector<std::byte> segment(kDataHeaderBytes + length + kTagBytes);
    encrypt_segment(encryptor_, clear_, payload, segment.data());
    EXPECT_TRUE(decrypt_segment(decryptor_, segment));
    EXPECT_TRUE(std::equal(clear_.begin(), clear_.end(), segment.begin()));
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), segment.begin() + kDataHeaderBytes));
  }
}

TEST_F(SegmentTest, TheTagCoversANameOfPayload) {
  std::vector<std::byte> segment(kDataHeaderBytes + kTagBytes);
  tag_payload_name(encryptor_, clear_, {5, 1000, 64}, segment.data());
  const auto opens = [&](const Payload& name) {
    std::vector<std::byte> copy = segment;
    return check_payload_name(decryptor_, copy, name);
  };
  EXPECT_TRUE(opens({5, 1000, 64}));
  EXPECT_FALSE(opens({6, 1000, 64}));
  EXPECT_FALSE(opens({5, 1001, 64}));
  EXPECT_FALSE(opens({5, 1000, 65}));
}

TEST_F(SegmentTest, NoncesDifferByPathNumberAndKindOfNumber) {
  const PacketKey::Nonce first = encryptor_.nonce(clear_.data());
  header_.base.number = 78;
  write_data_header(header_, clear_.data());
  const PacketKey::Nonce second = encryptor_.nonce(clear_.data());
  EXPECT_NE(first, second);
  header_.base.path = 4;
  write_data_header(header_, clear_.data());
  const PacketKey::Nonce third = encryptor_.nonce(clear_.data());
  EXPECT_NE(second, third);
  header_.base.type = PacketType::kControl;
  write_data_header(header_, clear_.data());
  EXPECT_NE(third, encryptor_.nonce(clear_.data()));
  header_.base.flags = kFlagNumbered;
  write_data_header(header_, clear_.data());
  EXPECT_EQ(third, encryptor_.nonce(clear_.data()));
}

}  // namespace
}  // namespace heddle::transport
