// Hashes: published values, because stored hashes must stay valid.
#include "base/hash.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Hash, HashTextIsFnv1a) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8U);
}

// The first number of splitmix64 with seed 0.
TEST(Hash, MixBitsMatchesSplitmix64) {
  EXPECT_EQ(mix_bits(0x9e3779b97f4a7c15), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix_bits(0), 0U);
}

}  // namespace
}  // namespace heddle
