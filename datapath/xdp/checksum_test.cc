// The Internet checksum against the definition of RFC 1071, word by word.
#include "datapath/xdp/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace heddle::datapath {
namespace {

using Data = std::vector<std::byte>;

// As a pair of bytes in network order; 0 and 0xffff are the same sum.
uint16_t by_definition(const Data& data) {
  uint32_t sum = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    sum += static_cast<uint32_t>(data[i]) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

uint16_t in_network_order(const ChecksumSum& sum) {
  const uint16_t stored = sum.folded();
  std::byte bytes[2];
  std::copy_n(reinterpret_cast<const std::byte*>(&stored), 2, bytes);
  return static_cast<uint16_t>(static_cast<uint16_t>(bytes[0]) << 8 |
                               static_cast<uint16_t>(bytes[1]));
}

Data random_data(Random& random, size_t bytes) {
  Data data(bytes);
  for (std::byte& each : data) each = static_cast<std::byte>(random.below(256));
  return data;
}

TEST(XdpChecksumTest, EveryLengthHasTheSumOfTheDefinition) {
  Random random(1);
  for (size_t bytes = 0; bytes < 300; ++bytes) {
    const Data data = random_data(random, bytes);
    ChecksumSum sum;
    sum.add(data);
    EXPECT_EQ(in_network_order(sum), by_definition(data)) << bytes;
  }
}

TEST(XdpChecksumTest, CarriesAreNotLost) {
  const Data ones(70'000, std::byte{0xff});
  ChecksumSum sum;
  sum.add(ones);
  EXPECT_EQ(in_network_order(sum), 0xffff);
}

TEST(XdpChecksumTest, PartsOfAnyLengthHaveTheSumOfTheWhole) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const Data data = random_data(random, 1 + random.below(400));
    ChecksumSum sum;
    bool odd = false;
    for (size_t at = 0; at < data.size();) {
      const size_t part = std::min<size_t>(1 + random.below(90), data.size() - at);
      sum.add_part(std::span(data).subspan(at, part), odd);
      at += part;
    }
    EXPECT_EQ(in_network_order(sum), by_definition(data));
  }
}

TEST(XdpChecksumTest, NumbersAreAddedInNetworkOrder) {
  ChecksumSum sum;
  sum.add_word(0x1234);
  sum.add_word(0xf000);
  EXPECT_EQ(in_network_order(sum), 0x0235);
}

}  // namespace
}  // namespace heddle::datapath
