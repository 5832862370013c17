// How addresses of recordings are written.
#include "insight/party.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

TEST(HostText, WritesIpv4AddressesWithDots) {
  EXPECT_EQ(host_text(0, 0xffff'0a00'0007), "10.0.0.7");
}

// RFC 5952, sections 4.1 to 4.3.
TEST(HostText, WritesIpv6AddressesAsRfc5952Says) {
  EXPECT_EQ(host_text(0x2001'0db8'0000'0000, 0x0000'0000'0000'0007), "[2001:db8::7]");
  EXPECT_EQ(host_text(0, 1), "[::1]");
  EXPECT_EQ(host_text(0, 0), "[::]");
  EXPECT_EQ(host_text(0xfe80'0000'0000'0000, 0), "[fe80::]");
  EXPECT_EQ(host_text(0x2001'0db8'0000'0001, 0x0001'0001'0001'0001), "[2001:db8:0:1:1:1:1:1]");
  EXPECT_EQ(host_text(0x2001'0000'0000'0001, 0x0000'0000'0000'0001), "[2001:0:0:1::1]");
  EXPECT_EQ(host_text(0x2001'0db8'0000'0000, 0x0001'0000'0000'0001), "[2001:db8::1:0:0:1]");
  EXPECT_EQ(host_text(0x2001'0db8'aaaa'bbbb, 0xcccc'dddd'eeee'0aaa),
            "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaa]");
}

}  // namespace
}  // namespace heddle::insight
