// Hosts and ports are parsed; malformed text is rejected.
#include "engine/host_port.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(HostPort, ParsesHostsWithAndWithoutPort) {
  const auto expect = [](const char* text, const char* host, uint16_t port) {
    const Result<HostPort> parsed = parse_host_port(text, 7);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->host, host) << text;
    EXPECT_EQ(parsed->port, port) << text;
  };
  expect("node1", "node1", 7);
  expect("node1:80", "node1", 80);
  expect("10.0.0.1:65535", "10.0.0.1", 65535);
  expect("::1", "::1", 7);
  expect("fe80::1%eth0", "fe80::1%eth0", 7);
  expect("[::1]", "::1", 7);
  expect("[::1]:80", "::1", 80);
}

TEST(HostPort, RejectsMalformedText) {
  for (const char* text : {"", ":80", "a:", "a:0", "a:65536", "a:x", "a:8x", "a:-1", "[::1", "[]:5",
                           "[::1]80", "[::1]:"}) {
    const Result<HostPort> parsed = parse_host_port(text, 7);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace heddle::engine
