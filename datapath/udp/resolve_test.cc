// Conversion between addresses and text. No test needs a name server.
#include "datapath/resolve.h"

#include <gtest/gtest.h>

#include <string>

#include "datapath/udp/socket_address.h"

namespace heddle::datapath {
namespace {

std::string round_trip(const std::string& host, uint16_t port) {
  const Result<transport::Address> address = resolve(host, port);
  return address ? to_text(*address) : address.error().message();
}

TEST(ResolveTest, NumericAddressesKeepTheirText) {
  EXPECT_EQ(round_trip("10.0.0.1", 4791), "10.0.0.1:4791");
  EXPECT_EQ(round_trip("::1", 1), "[::1]:1");
  EXPECT_EQ(round_trip("fd00:0:0::7", 65535), "[fd00::7]:65535");
  EXPECT_EQ(round_trip("[fd00::7]", 9), "[fd00::7]:9");
}

TEST(ResolveTest, Ipv4IsMapped) {
  const auto address = resolve("192.0.2.1", 5);
  ASSERT_TRUE(address.has_value());
  EXPECT_TRUE(is_ipv4(*address));
  EXPECT_EQ(address->host[12], 192);
  EXPECT_EQ(address->host[15], 1);
  EXPECT_EQ(host_text(*address), "192.0.2.1");
  EXPECT_EQ(*resolve("::ffff:192.0.2.1", 5), *address);
}

TEST(ResolveTest, AScopeIsPreserved) {
  const auto address = resolve("fe80::1%lo", 7);
  ASSERT_TRUE(address.has_value()) << address.error().message();
  EXPECT_NE(address->scope, 0u);
  EXPECT_EQ(to_text(*address), "[fe80::1%" + std::to_string(address->scope) + "]:7");
}

TEST(ResolveTest, AnEmptyNameIsInvalid) {
  const auto address = resolve("", 7);
  ASSERT_FALSE(address.has_value());
  EXPECT_EQ(address.error().code, ErrorCode::kInvalid);
}

TEST(ResolveTest, AnImpossibleNameIsUnknown) {
  const auto address = resolve(std::string(300, 'x') + ".invalid", 7);
  ASSERT_FALSE(address.has_value());
  EXPECT_EQ(address.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(address.error().todo.empty());
}

TEST(SocketAddressTest, SurvivesTheConversionToSockaddrAndBack) {
  for (const char* host : {"10.1.2.3", "fd00::9"}) {
    const transport::Address address = *resolve(host, 4242);
    SocketAddress raw;
    ASSERT_TRUE(to_socket_address(address, Family::kIpv6, raw));
    EXPECT_EQ(from_socket_address(raw.bytes.data()), address);
  }
  SocketAddress raw;
  const transport::Address four = *resolve("10.1.2.3", 4242);
  ASSERT_TRUE(to_socket_address(four, Family::kIpv4, raw));
  EXPECT_EQ(from_socket_address(raw.bytes.data()), four);
  EXPECT_FALSE(to_socket_address(*resolve("fd00::9", 1), Family::kIpv4, raw));
}

TEST(SocketAddressTest, WildcardsAreRecognized) {
  EXPECT_TRUE(is_any(any_address(Family::kIpv4, 1)));
  EXPECT_TRUE(is_any(any_address(Family::kIpv6, 1)));
  EXPECT_FALSE(is_any(*resolve("127.0.0.1", 1)));
}

}  // namespace
}  // namespace heddle::datapath
