// A connection's status as its user sees it, from its creation to its release.
#include "engine/connection_table.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

using transport::Notice;
using transport::NoticeKind;

TEST(ConnectionTable, StatusReportsOpenThenTheCauseOfTheClose) {
  ConnectionTable table;
  table.add(5, {});
  EXPECT_EQ(table.find(5)->state, ConnectionState::kOpening);
  table.handle({.kind = NoticeKind::kOpened, .connection = 5});
  EXPECT_EQ(table.find(5)->state, ConnectionState::kOpen);
  EXPECT_EQ(table.living().size(), 1U);
  Notice closed{.kind = NoticeKind::kClosed, .connection = 5};
  closed.error.code = ErrorCode::kPeerDead;
  table.handle(closed);
  ASSERT_NE(table.find(5), nullptr);
  EXPECT_EQ(table.find(5)->state, ConnectionState::kClosed);
  EXPECT_EQ(table.find(5)->error.code, ErrorCode::kPeerDead);
  EXPECT_TRUE(table.living().empty());
  table.give_back(5);
  EXPECT_EQ(table.find(5), nullptr);
}

TEST(ConnectionTable, AcceptsInOrderAndSkipsConnectionsThatClosedInTheQueue) {
  ConnectionTable table;
  for (const Connection connection : {1U, 2U, 3U}) {
    table.handle({.kind = NoticeKind::kAccepted, .connection = connection});
  }
  table.handle({.kind = NoticeKind::kClosed, .connection = 2});
  EXPECT_EQ(table.take_accepted(), 1U);
  EXPECT_EQ(table.take_accepted(), 3U);
  EXPECT_EQ(table.take_accepted(), std::nullopt);
  EXPECT_EQ(table.find(2), nullptr);
}

TEST(ConnectionTable, NoticeForAReleasedConnectionIsIgnored) {
  ConnectionTable table;
  table.add(9, {});
  table.give_back(9);
  table.handle({.kind = NoticeKind::kOpened, .connection = 9});
  EXPECT_EQ(table.find(9), nullptr);
}

}  // namespace
}  // namespace heddle::engine
