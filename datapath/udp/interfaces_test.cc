// Tests of the host's interfaces; loopback is the one that every machine has.

#include "datapath/interfaces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "datapath/resolve.h"

namespace heddle::datapath {
namespace {

TEST(InterfacesTest, LoopbackIsListedWithItsAddress) {
  const auto interfaces = host_interfaces();
  const auto loopback = std::find_if(interfaces.begin(), interfaces.end(),
                                     [](const HostInterface& each) { return each.loopback; });
  ASSERT_NE(loopback, interfaces.end());
  EXPECT_GT(loopback->index, 0u);
  EXPECT_TRUE(loopback->up);
  EXPECT_GT(loopback->mtu_bytes, 1500u);
  const auto four = std::find_if(loopback->addresses.begin(), loopback->addresses.end(),
                                 [](const InterfaceAddress& each) { return each.ipv4(); });
  ASSERT_NE(four, loopback->addresses.end());
  EXPECT_EQ(four->text, "127.0.0.1");
  EXPECT_EQ(four->prefix_bits, 8u);
  EXPECT_FALSE(four->link_local());
}

TEST(InterfacesTest, EveryUsableAddressOfTheHostBelongsToAnInterface) {
  const auto interfaces = host_interfaces();
  for (const transport::Address& address : host_addresses(0)) {
    const bool listed = std::any_of(interfaces.begin(), interfaces.end(), [&](const auto& each) {
      return std::any_of(each.addresses.begin(), each.addresses.end(),
                         [&](const InterfaceAddress& other) { return other.host == address.host; });
    });
    EXPECT_TRUE(listed) << host_text(address);
  }
}

TEST(InterfacesTest, IndicesAreDistinctAndAscend) {
  const auto interfaces = host_interfaces();
  for (size_t i = 1; i < interfaces.size(); ++i) {
    EXPECT_LT(interfaces[i - 1].index, interfaces[i].index);
  }
}

}  // namespace
}  // namespace heddle::datapath
