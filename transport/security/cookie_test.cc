// Behaviour of cookies: good for who asked, for a while, and for nothing else.
#include "transport/security/cookie.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

constexpr Nanos kNow = seconds(1005);  // in the middle of a cookie's time

class CookieTest : public ::testing::Test {
 protected:
  CookieTest() {
    peer_.host[15] = 9;
    peer_.port = 4791;
    init_.connection = 0x10001;
    init_.nonce = 0xabcdef;
    init_.wire_id = 0x123456789;
    init_.has_cookie = true;
    init_.cookie = maker_.make(kNow, peer_, init_);
  }

  Secrets secrets_{1};
  CookieMaker maker_{secrets_};
  Address peer_;
  InitPacket init_;
};

TEST_F(CookieTest, IsGoodForWhomItWasMade) { EXPECT_TRUE(maker_.good(kNow, peer_, init_)); }

TEST_F(CookieTest, IsGoodForItsLifetimeAndNotForTwice) {
  EXPECT_TRUE(maker_.good(kNow + CookieMaker::kLifetime, peer_, init_));
  EXPECT_FALSE(maker_.good(kNow + 2 * CookieMaker::kLifetime, peer_, init_));
}

TEST_F(CookieTest, OneOfTheFutureIsNotGood) {
  EXPECT_FALSE(maker_.good(kNow - CookieMaker::kLifetime, peer_, init_));
}

TEST_F(CookieTest, IsNotGoodForAnotherAddress) {
  Address host = peer_;
  host.host[0] = 1;
  Address port = peer_;
  ++port.port;
  Address scope = peer_;
  scope.scope = 2;
  for (const Address& other : {host, port, scope}) EXPECT_FALSE(maker_.good(kNow, other, init_));
}

TEST_F(CookieTest, IsNotGoodForAnotherInit) {
  InitPacket id = init_;
  ++id.connection;
  InitPacket nonce = init_;
  ++nonce.nonce;
  for (const InitPacket& other : {id, nonce}) EXPECT_FALSE(maker_.good(kNow, peer_, other));
}

TEST_F(CookieTest, WithAnyBitChangedItIsNotGood) {
  for (size_t bit = 0; bit < kCookieBytes * 8; ++bit) {
    InitPacket changed = init_;
    changed.cookie[bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_FALSE(maker_.good(kNow, peer_, changed)) << bit;
  }
}

TEST_F(CookieTest, OfAnotherEndpointItIsNotGood) {
  Secrets secrets(2);
  const CookieMaker other(secrets);
  EXPECT_FALSE(other.good(kNow, peer_, init_));
}

TEST_F(CookieTest, EqualSeedsMakeEqualCookies) {
  Secrets secrets(1);
  EXPECT_EQ(CookieMaker(secrets).make(kNow, peer_, init_), init_.cookie);
}

}  // namespace
}  // namespace heddle::transport
