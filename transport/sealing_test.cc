// The cipher against published vectors, and what a sealed segment covers.
#include "transport/sealing.h"

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
TEST(Sealing, IsAesGcmOfThePublishedVector) {
  const auto key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const auto iv = bytes("cafebabefacedbaddecaf888");
  const auto covered = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const auto text = bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6"
      "b525b16aedf5aa0de657ba637b39");
  const auto sealed = bytes(
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b105682"
      "8"
      "838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b");
  const std::span<const std::byte, 32> key_bytes(key.data(), 32);
  const std::span<const std::byte, 12> iv_bytes(iv.data(), 12);
  SealKey sealer(key_bytes, iv_bytes, SealKey::Use::kSeal);
  SealKey::Nonce nonce;
  std::copy(iv.begin(), iv.end(), nonce.begin());
  std::vector<std::byte> out(text.size() + kTagBytes);
  sealer.seal(nonce, {covered, {}, text, {}}, out.data());
  EXPECT_EQ(out, sealed);
  // In two pieces it is the same.
  const std::span<const std::byte> all(text);
  const std::span<const std::byte> head(covered);
  sealer.seal(nonce, {head.first(5), head.subspan(5), all.first(13), all.subspan(13)}, out.data());
  EXPECT_EQ(out, sealed);
  SealKey opener(key_bytes, iv_bytes, SealKey::Use::kOpen);
  ASSERT_TRUE(opener.open(nonce, covered, {}, out, out.data()));
  EXPECT_TRUE(std::equal(text.begin(), text.end(), out.begin()));
  EXPECT_FALSE(opener.open(nonce, covered, {}, out, out.data()));
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
  std::array<std::byte, SealKey::kKeyBytes> key_{std::byte{1}};
  std::array<std::byte, SealKey::kIvBytes> iv_{std::byte{2}};
  SealKey sealer_{key_, iv_, SealKey::Use::kSeal};
  SealKey opener_{key_, iv_, SealKey::Use::kOpen};
};

TEST_F(SegmentTest, OpensWhereItStands) {
  for (const size_t length : {0, 1, 15, 16, 17, 9000}) {
    const std::vector<std::byte> payload(length, std::byte{0x33});
    std::vector<std::byte> segment(kDataHeaderBytes + length + kTagBytes);
    seal_segment(sealer_, clear_, payload, segment.data());
    EXPECT_TRUE(open_segment(opener_, segment));
    EXPECT_TRUE(std::equal(clear_.begin(), clear_.end(), segment.begin()));
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), segment.begin() + kDataHeaderBytes));
  }
}

TEST_F(SegmentTest, TheTagCoversANameOfPayload) {
  std::vector<std::byte> segment(kDataHeaderBytes + kTagBytes);
  seal_named(sealer_, clear_, {5, 1000, 64}, segment.data());
  const auto opens = [&](const Payload& name) {
    std::vector<std::byte> copy = segment;
    return open_named(opener_, copy, name);
  };
  EXPECT_TRUE(opens({5, 1000, 64}));
  EXPECT_FALSE(opens({6, 1000, 64}));
  EXPECT_FALSE(opens({5, 1001, 64}));
  EXPECT_FALSE(opens({5, 1000, 65}));
}

TEST_F(SegmentTest, NoncesDifferByPathNumberAndKindOfNumber) {
  const SealKey::Nonce first = sealer_.nonce(clear_.data());
  header_.base.number = 78;
  write_data_header(header_, clear_.data());
  const SealKey::Nonce second = sealer_.nonce(clear_.data());
  EXPECT_NE(first, second);
  header_.base.path = 4;
  write_data_header(header_, clear_.data());
  const SealKey::Nonce third = sealer_.nonce(clear_.data());
  EXPECT_NE(second, third);
  header_.base.type = PacketType::kControl;
  write_data_header(header_, clear_.data());
  EXPECT_NE(third, sealer_.nonce(clear_.data()));
  header_.base.flags = kFlagNumbered;
  write_data_header(header_, clear_.data());
  EXPECT_EQ(third, sealer_.nonce(clear_.data()));
}

}  // namespace
}  // namespace heddle::transport
