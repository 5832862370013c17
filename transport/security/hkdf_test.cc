// HKDF against the vectors of RFC 5869, appendix A (those for SHA-256).
#include "transport/security/hkdf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::transport {
namespace {

std::vector<std::byte> bytes(const std::string& hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

std::vector<std::byte> counting(int from, int to) {
  std::vector<std::byte> out;
  for (int i = from; i <= to; ++i) out.push_back(static_cast<std::byte>(i));
  return out;
}

std::vector<std::byte> expand(const Secret& secret, const std::vector<std::byte>& info,
                              size_t length) {
  std::vector<std::byte> out(length);
  hkdf_expand(secret, "", info, out);
  return out;
}

std::vector<std::byte> whole(const Secret& secret) { return {secret.begin(), secret.end()}; }

TEST(Hkdf, Rfc5869Case1) {
  const Secret prk =
      hkdf_extract(counting(0x00, 0x0c), std::vector<std::byte>(22, std::byte{0x0b}));
  EXPECT_EQ(whole(prk), bytes("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"));
  EXPECT_EQ(expand(prk, counting(0xf0, 0xf9), 42),
            bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b88718"
                  "5865"));
}

TEST(Hkdf, Rfc5869Case2) {
  const Secret prk = hkdf_extract(counting(0x60, 0xaf), counting(0x00, 0x4f));
  EXPECT_EQ(whole(prk), bytes("06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244"));
  EXPECT_EQ(expand(prk, counting(0xb0, 0xff), 82),
            bytes("b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac78272"
                  "71cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f"
                  "1d87"));
}

TEST(Hkdf, Rfc5869Case3) {
  const Secret prk = hkdf_extract({}, std::vector<std::byte>(22, std::byte{0x0b}));
  EXPECT_EQ(whole(prk), bytes("19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04"));
  EXPECT_EQ(expand(prk, {}, 42),
            bytes("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a"
                  "96c8"));
}

TEST(Hkdf, LabelAndContextBothCount) {
  const Secret secret = hkdf_extract({}, counting(1, 32));
  Secret a;
  Secret b;
  Secret c;
  hkdf_expand(secret, "one", counting(1, 2), a);
  hkdf_expand(secret, "two", counting(1, 2), b);
  hkdf_expand(secret, "one", counting(1, 3), c);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
}

}  // namespace
}  // namespace heddle::transport
