// What one rank can make another hold before that one asks who is left.
#include "collectives/membership/membership_mailbox.h"

#include <gtest/gtest.h>

namespace heddle::collectives {
namespace {

using Kind = MembershipMessage::Kind;

TEST(MembershipMailbox, TheLatestOfEachKindReplacesThoseBeforeIt) {
  MembershipMailbox mailbox;
  for (uint32_t round = 1; round <= 10'000; ++round) {
    for (const Kind kind : {Kind::kPromise, Kind::kPrepare}) {
      mailbox.put(round % 2, {kind, {round, 0}, {}, RankSet(3)});
    }
  }
  EXPECT_EQ(mailbox.size(), 4U);
  uint32_t from = 0;
  MembershipMessage message;
  for (const uint32_t rank : {0U, 1U}) {
    for (const Kind kind : {Kind::kPromise, Kind::kPrepare}) {
      ASSERT_TRUE(mailbox.take(from, message));
      EXPECT_EQ(from, rank);
      EXPECT_EQ(message.kind, kind);
      EXPECT_EQ(message.ballot.round, rank == 0 ? 10'000U : 9'999U);
    }
  }
  EXPECT_FALSE(mailbox.take(from, message));
}

}  // namespace
}  // namespace heddle::collectives
