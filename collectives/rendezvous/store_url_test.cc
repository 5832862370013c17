// Store URLs: addresses, files, and what is neither.
#include "collectives/rendezvous/store_url.h"

#include <gtest/gtest.h>

namespace heddle::collectives {
namespace {

TEST(StoreUrlTest, NamesAnAddress) {
  EXPECT_EQ(parse_store_url("udp://h0:18701")->host_port, "h0:18701");
  EXPECT_EQ(parse_store_url("tcp://10.0.0.1:18701")->host_port, "10.0.0.1:18701");
  EXPECT_EQ(parse_store_url("udp://[fd00::1]:5")->host_port, "[fd00::1]:5");
}

TEST(StoreUrlTest, NamesAFile) {
  EXPECT_EQ(parse_store_url("file:///tmp/x")->file, "/tmp/x");
  EXPECT_TRUE(parse_store_url("file:///tmp/x")->host_port.empty());
}

TEST(StoreUrlTest, RefusesWhatIsNeitherAnAddressNorAnAbsolutePath) {
  for (const char* text :
       {"", "h0:18701", "udp://", "udp://h0", "udp://h0:", "udp://h0:0", "udp://h0:99999",
        "udp://fd00::1", "file://tmp/x", "file:///tmp/", "file://", "http://h0:1"}) {
    const Result<StoreUrl> url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().todo.find("udp://HOST:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle::collectives
