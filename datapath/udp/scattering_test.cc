// Scattering against a model: for all sizes, the bytes that the kernel would have written come out
// again, in place or contiguous, and nothing behind the place is written.
#include "datapath/udp/scattering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "datapath/regions.h"

namespace heddle::datapath {
namespace {

using transport::kDataHeaderBytes;
using transport::Prediction;

constexpr uint64_t kPattern = 5;
constexpr std::byte kUntouched{0xEE};

class ScatteringTest : public testing::Test {
 protected:
  static constexpr size_t kPlaceBytes = 200'000;

  ScatteringTest() : memory_(Scattering::kReserve), place_(kPlaceBytes, kUntouched) {}

  // Lays out and writes `bytes` of the pattern as the kernel would.
  void receive(uint32_t step, uint64_t room, bool rows, uint32_t bytes) {
    std::fill(place_.begin(), place_.end(), kUntouched);
    prediction_ = {};
    prediction_.place.length = room;
    prediction_.payload_bytes = step;
    prediction_.header_bytes = header_;
    std::array<iovec, Scattering::kMaxPieces> pieces;
    const size_t count =
        scattering_.lay_out(prediction_, memory_.data(), place_.data(), rows, pieces);
    sent_.resize(bytes);
    fill_pattern(kPattern, 0, sent_);
    size_t done = 0;
    for (size_t i = 0; i < count && done < bytes; ++i) {
      const size_t length = std::min(pieces[i].iov_len, bytes - done);
      std::memcpy(pieces[i].iov_base, sent_.data() + done, length);
      done += length;
    }
    ASSERT_EQ(done, bytes) << "the pieces must take any row";
    std::copy_n(sent_.begin(), std::min<size_t>(bytes, kDataHeaderBytes),
                prediction_.header.begin());
    prediction_.mask.fill(std::byte{0xff});
    EXPECT_TRUE(std::all_of(place_.begin() + static_cast<ptrdiff_t>(room), place_.end(),
                            [](std::byte byte) { return byte == kUntouched; }));
  }

  bool same(const std::byte* at, size_t from, size_t length) const {
    return std::memcmp(at, sent_.data() + from, length) == 0;
  }

  // Encrypted headers include a tag.
  void draw_header(Random& random) {
    header_ = random.below(2) == 0 ? kDataHeaderBytes : transport::kMostHeaderBytes;
  }

  uint32_t header_ = kDataHeaderBytes;
  std::vector<std::byte> memory_;
  std::vector<std::byte> place_;
  std::vector<std::byte> sent_;
  Prediction prediction_;
  Scattering scattering_;
};

TEST_F(ScatteringTest, AnyReceiveCanBeMadeContiguousAgain) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const auto step = static_cast<uint32_t>(1 + random.below(9'000));
    const auto bytes = static_cast<uint32_t>(1 + random.below(65'535));
    draw_header(random);
    receive(step, 1 + random.below(100'000), random.below(2) == 0, bytes);
    scattering_.line_up(bytes);
    ASSERT_TRUE(same(scattering_.slots(), 0, bytes)) << "step " << step << " bytes " << bytes;
  }
}

TEST_F(ScatteringTest, MatchingDataIsInPlaceAndTheRestBehindIt) {
  Random random(2);
  int split = 0;
  for (int i = 0; i < 500; ++i) {
    const auto step = static_cast<uint32_t>(1'000 + random.below(8'000));
    draw_header(random);
    const uint32_t datagram = header_ + step;
    const auto segments = static_cast<uint32_t>(1 + random.below(65'535 / datagram));
    const auto last = static_cast<uint32_t>(header_ + random.below(step + 1));
    const uint32_t bytes = (segments - 1) * datagram + last;
    const uint64_t room = 1 + random.below(80'000);
    receive(step, room, true, bytes);
    ASSERT_TRUE(scattering_.fits(prediction_, bytes, segments == 1 ? bytes : datagram));
    const uint32_t in_place = scattering_.in_place(bytes);
    ASSERT_TRUE(in_place == bytes || in_place % datagram == 0);
    ASSERT_LE(in_place, bytes);
    for (uint32_t at = 0, s = 0; at < in_place; at += datagram, ++s) {
      const uint32_t payload = std::min(datagram, in_place - at) - header_;
      ASSERT_TRUE(same(scattering_.slots() + size_t{s} * header_, at, header_));
      ASSERT_TRUE(same(place_.data() + size_t{s} * step, at + header_, payload));
    }
    if (in_place < bytes) {
      ++split;
      ASSERT_GT(in_place + datagram - header_, room) << "there was room for another";
      ASSERT_TRUE(same(scattering_.rest(), in_place, bytes - in_place));
    }
  }
  EXPECT_GT(split, 100);
}

TEST_F(ScatteringTest, OtherSizesAndHeadersDoNotFit) {
  constexpr uint32_t kDatagram = kDataHeaderBytes + 1'000;
  receive(1'000, 50'000, true, 3 * kDatagram);
  EXPECT_TRUE(scattering_.fits(prediction_, 3 * kDatagram, kDatagram));
  EXPECT_FALSE(scattering_.fits(prediction_, 3 * kDatagram, kDatagram - 1));
  EXPECT_FALSE(scattering_.fits(prediction_, 3 * kDatagram, kDatagram + 1));
  EXPECT_FALSE(scattering_.fits(prediction_, 3 * kDatagram, 3 * kDatagram))
      << "one datagram, larger than a step";
  EXPECT_TRUE(scattering_.fits(prediction_, 900, 900)) << "the last of a message";
  EXPECT_TRUE(scattering_.fits(prediction_, kDataHeaderBytes, kDataHeaderBytes));
  EXPECT_FALSE(scattering_.fits(prediction_, kDataHeaderBytes - 1, kDataHeaderBytes - 1));
  prediction_.header[7] ^= std::byte{1};
  EXPECT_FALSE(scattering_.fits(prediction_, 3 * kDatagram, kDatagram));
  prediction_.mask[7] = std::byte{0xfe};
  EXPECT_TRUE(scattering_.fits(prediction_, 3 * kDatagram, kDatagram))
      << "the mask does not ask for this bit";
}

// A packet shorter than header and tag has no payload to place.
TEST_F(ScatteringTest, APacketThatEndsWithinItsTagDoesNotFit) {
  header_ = transport::kMostHeaderBytes;
  for (uint32_t bytes = kDataHeaderBytes; bytes < header_; ++bytes) {
    receive(1'000, 50'000, true, bytes);
    EXPECT_FALSE(scattering_.fits(prediction_, bytes, bytes)) << bytes;
  }
  receive(1'000, 50'000, true, header_);
  EXPECT_TRUE(scattering_.fits(prediction_, header_, header_));
}

TEST_F(ScatteringTest, APredictionAdvances) {
  Prediction prediction;
  prediction.place = {3, 1'000, 5'000};
  EXPECT_FALSE(move_on(prediction, 100)) << "nobody said where the offset is";
  constexpr size_t kLast = kDataHeaderBytes - 4;
  prediction.offset_at = kLast;
  prediction.header[kLast] = std::byte{0xff};
  prediction.header[kLast + 1] = std::byte{0x01};
  ASSERT_TRUE(move_on(prediction, 0x102));
  EXPECT_EQ(prediction.header[kLast], std::byte{0x01});
  EXPECT_EQ(prediction.header[kLast + 1], std::byte{0x03});
  EXPECT_EQ(prediction.header[kLast + 2], std::byte{0});
  EXPECT_EQ(prediction.place.offset, 1'000u + 0x102);
  EXPECT_EQ(prediction.place.length, 5'000u - 0x102);
  EXPECT_FALSE(move_on(prediction, prediction.place.length)) << "nothing is left";
  prediction.offset_at = kLast + 1;
  EXPECT_FALSE(move_on(prediction, 1)) << "beyond the header";
}

}  // namespace
}  // namespace heddle::datapath
