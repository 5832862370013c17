// Behaviour of an endpoint's table of connections: ids, limits, who is ready and who is due.
#include "transport/connection/connection_table.h"

#include <gtest/gtest.h>

#include <set>

namespace heddle::transport {
namespace {

class ConnectionTableTest : public ::testing::Test {
 protected:
  static EndpointOptions options() {
    EndpointOptions options;
    options.reply_port = 5;
    return options;
  }
  static Address address(uint8_t last) {
    Address address;
    address.host[15] = last;
    address.port = 1;
    return address;
  }
  Connection& add(uint8_t last = 1) {
    Connection* connection = table_.add(address(last));
    EXPECT_NE(connection, nullptr);
    return *connection;
  }

  Shared shared_{options(), 1, nullptr};
  ConnectionTable table_{shared_, 4};
};

TEST_F(ConnectionTableTest, ConnectionsAreFoundByTheirIds) {
  Connection& first = add();
  Connection& second = add();
  EXPECT_NE(first.id(), 0u);
  EXPECT_NE(first.id(), second.id());
  EXPECT_EQ(table_.find(first.id()), &first);
  EXPECT_EQ(table_.find(second.id()), &second);
  EXPECT_EQ(table_.find(0), nullptr);
  EXPECT_EQ(table_.find(UINT32_MAX), nullptr);
  EXPECT_EQ(table_.size(), 2u);
}

TEST_F(ConnectionTableTest, BeyondTheLimitNoneIsAdded) {
  Connection& first = add();
  for (int i = 0; i < 3; ++i) add();
  EXPECT_EQ(table_.add(address(1)), nullptr);
  table_.remove(first);
  EXPECT_NE(table_.add(address(1)), nullptr);
}

TEST_F(ConnectionTableTest, AnIdIsNotUsedAgainSoon) {
  std::set<ConnectionId> ids;
  for (int i = 0; i < 1000; ++i) {
    Connection& connection = add();
    EXPECT_TRUE(ids.insert(connection.id()).second);
    table_.remove(connection);
  }
  for (const ConnectionId id : ids) EXPECT_EQ(table_.find(id), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ConnectionTableTest, AnAcceptedConnectionIsFoundByItsPeersInit) {
  Connection& connection = add(7);
  InitPacket init;
  init.connection = 99;
  init.reply_port = 1;
  init.parameters.max_paths = 4;
  init.parameters.max_datagram_bytes = 1472;
  init.parameters.max_channels = init.parameters.max_posted = 4;
  ASSERT_TRUE(connection.begin_accept(seconds(1), init, 0));
  table_.note_accepted(address(7), 99, {connection.id(), 100});
  EXPECT_EQ(shared_.budget->charged(), 100u);
  EXPECT_EQ(table_.find_accepted(address(7), 99), &connection);
  EXPECT_EQ(table_.find_accepted(address(7), 98), nullptr);
  EXPECT_EQ(table_.find_accepted(address(8), 99), nullptr);
  table_.remove(connection);
  EXPECT_EQ(table_.find_accepted(address(7), 99), nullptr);
  EXPECT_EQ(shared_.budget->charged(), 0u);
}

TEST_F(ConnectionTableTest, TouchedOnesAreReadyOnceInTheirOrder) {
  Connection& first = add();
  Connection& second = add();
  table_.touch(second);
  table_.touch(first);
  table_.touch(second);
  EXPECT_EQ(table_.next_timeout(), Nanos{});
  EXPECT_EQ(table_.next_ready(), &second);
  EXPECT_EQ(table_.next_ready(), &first);
  EXPECT_EQ(table_.next_ready(), nullptr);
  table_.touch(second);
  EXPECT_EQ(table_.next_ready(), &second);
}

TEST_F(ConnectionTableTest, OneThatIsPutBackIsTheNextAgain) {
  Connection& first = add();
  Connection& second = add();
  table_.touch(first);
  table_.touch(second);
  EXPECT_EQ(table_.next_ready(), &first);
  table_.put_back(first);
  table_.touch(first);
  EXPECT_EQ(table_.next_ready(), &first);
  EXPECT_TRUE(table_.has_ready());
  EXPECT_EQ(table_.next_ready(), &second);
  EXPECT_FALSE(table_.has_ready());
}

TEST_F(ConnectionTableTest, OneThatIsRemovedIsNotReady) {
  Connection& first = add();
  Connection& second = add();
  table_.touch(first);
  table_.touch(second);
  table_.remove(first);
  EXPECT_EQ(table_.next_ready(), &second);
  EXPECT_EQ(table_.next_ready(), nullptr);
}

TEST_F(ConnectionTableTest, TheOneThatIsDueComesOnce) {
  Connection& first = add();
  Connection& second = add();
  ASSERT_TRUE(first.begin_connect(seconds(2), {}));
  ASSERT_TRUE(second.begin_connect(seconds(1), {}));
  table_.update_timer(first);
  table_.update_timer(second);
  EXPECT_EQ(table_.next_timeout(), seconds(1));
  EXPECT_EQ(table_.next_due(seconds(1) - nanos(1)), nullptr);
  EXPECT_EQ(table_.next_due(seconds(1)), &second);
  EXPECT_EQ(table_.next_due(seconds(1)), nullptr);
  EXPECT_EQ(table_.next_timeout(), seconds(2));
  table_.remove(first);
  EXPECT_EQ(table_.next_timeout(), Nanos::never());
}

TEST_F(ConnectionTableTest, EachIsVisitedOnce) {
  std::set<ConnectionId> expected{add().id(), add().id(), add().id()};
  table_.for_each([&](Connection& connection) { EXPECT_EQ(expected.erase(connection.id()), 1u); });
  EXPECT_TRUE(expected.empty());
}

}  // namespace
}  // namespace heddle::transport
