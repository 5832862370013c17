// Secrets: equal seeds give equal streams, and no stream says anything of another.
#include "transport/security/secrets.h"

#include <gtest/gtest.h>

#include <set>

namespace heddle::transport {
namespace {

TEST(Secrets, EqualSeedsGiveEqualStreams) {
  Secrets one(7);
  Secrets other(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(one.draw(SecretUse::kNonce), other.draw(SecretUse::kNonce));
  }
}

TEST(Secrets, EveryWordOfTheSeedCounts) {
  std::set<uint64_t> drawn;
  for (size_t word = 0; word < 4; ++word) {
    std::array<uint64_t, 4> words{};
    words[word] = 1;
    Secrets secrets{Seed(words)};
    drawn.insert(secrets.draw(SecretUse::kConnectionId));
  }
  EXPECT_EQ(drawn.size(), 4u);
}

// What one use draws must not move another: else the number of one's draws would show in it.
TEST(Secrets, StreamsOfDifferentUsesAreApart) {
  Secrets one(1);
  Secrets other(1);
  for (int i = 0; i < 10; ++i) one.draw(SecretUse::kProbeToken);
  EXPECT_EQ(one.draw(SecretUse::kCookieKey), other.draw(SecretUse::kCookieKey));
  std::set<uint64_t> drawn;
  for (size_t use = 0; use < kSecretUses; ++use)
    drawn.insert(one.draw(static_cast<SecretUse>(use)));
  EXPECT_EQ(drawn.size(), kSecretUses);
}

TEST(Secrets, DrawsAreSpreadOverAllBits) {
  Secrets secrets(3);
  std::array<int, 64> ones{};
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t drawn = secrets.draw(SecretUse::kConnectionId);
    for (size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(drawn >> bit & 1);
  }
  // Of 4,000 fair tosses six deviations (of 31.6) either way.
  for (const int count : ones) EXPECT_NEAR(count, kDraws / 2, 190);
}

}  // namespace
}  // namespace heddle::transport
