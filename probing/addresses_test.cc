// Addresses: only what is one in digits.
#include "probing/addresses.h"

#include <gtest/gtest.h>

namespace heddle::probing {
namespace {

TEST(ProbingAddressesTest, AddressesAreTakenAndOtherTextIsNot) {
  for (const char* const text : {"10.0.0.1", "255.255.255.255", "::", "::1", "fd00::1",
                                 "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1", "fe80::", "1:2::7:8"}) {
    EXPECT_TRUE(is_address(text)) << text;
  }
  for (const char* const text :
       {"", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1\n", " 10.0.0.1", "1:2:3:4:5:6:7",
        ":::", "1::2::3", "12345::", "::g", "1:2:3:4:5:6:7:8:9", "10.0.0.1::", "1:2:3:4:5:6:7::8",
        "fd00::1%eth0", "\x1b[2J", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:"}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
}

}  // namespace
}  // namespace heddle::probing
