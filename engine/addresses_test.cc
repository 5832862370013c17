// Addresses: parsing, formatting and classification.
#include "engine/addresses.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

transport::Address found(const std::string& name) { return find_address(name, 7).value(); }

TEST(AddressesTest, NamesResolveWithTheirPortOrTheDefault) {
  EXPECT_EQ(address_text(found("10.1.2.3")), "10.1.2.3:7");
  EXPECT_EQ(address_text(found("10.1.2.3:99")), "10.1.2.3:99");
  EXPECT_EQ(address_text(found("[fd00::1]:99")), "[fd00::1]:99");
  EXPECT_EQ(find_address("", 7).error().code, ErrorCode::kInvalid);
}

TEST(AddressesTest, WildcardAndLoopbackAddressesAreRecognized) {
  for (const char* any : {"0.0.0.0", "::"}) {
    EXPECT_TRUE(is_any(found(any))) << any;
    EXPECT_FALSE(is_loopback(found(any))) << any;
  }
  for (const char* loopback : {"127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(is_loopback(found(loopback))) << loopback;
    EXPECT_FALSE(is_any(found(loopback))) << loopback;
  }
  for (const char* other : {"10.0.0.127", "fd00::1", "128.0.0.1", "::2"}) {
    EXPECT_FALSE(is_any(found(other)) || is_loopback(found(other))) << other;
  }
}

TEST(AddressesTest, LoopbackAndOtherHostsHaveNoLinkRate) {
  for (const char* const name : {"127.0.0.1", "192.0.2.1", "::1"}) {
    EXPECT_EQ(link_rate(find_address(name, 1).value()).count, 0U) << name;
  }
}

TEST(AddressesTest, OwnAddressesEndWithLoopback) {
  const std::vector<transport::Address> own = own_addresses(4711);
  ASSERT_FALSE(own.empty());
  bool in_loopback = false;
  for (const transport::Address& address : own) {
    EXPECT_EQ(address.port, 4711);
    EXPECT_FALSE(is_any(address));
    EXPECT_TRUE(is_loopback(address) || !in_loopback) << address_text(address);
    in_loopback = in_loopback || is_loopback(address);
  }
}

}  // namespace
}  // namespace heddle::engine
