// Nonces follow from the seed, and do not show the generator.
#include "transport/security/nonce.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

TEST(NonceTest, EqualSeedsGiveEqualNonces) {
  Random one(1);
  Random same(1);
  Random other(2);
  const uint64_t nonce = draw_nonce(one);
  EXPECT_EQ(nonce, draw_nonce(same));
  EXPECT_NE(nonce, draw_nonce(other));
  EXPECT_NE(nonce, draw_nonce(one));
}

TEST(NonceTest, TheDrawItselfIsNotShown) {
  Random shown(1);
  Random hidden(1);
  for (int i = 0; i < 100; ++i) EXPECT_NE(draw_nonce(shown), hidden.next());
}

}  // namespace
}  // namespace heddle::transport
