// What a hostile peer can do to the other connections of the endpoint that it talks to: nothing.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "transport/stranger_budget.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class NeighboursTest : public testing::PairFixture {
 protected:
  // `count` more connections of both sides, of which nothing arrives any more: the test speaks for
  // them.
  void start_with_hostile_neighbours(PairOptions options, size_t count) {
    options.drop = [this](int side, const TxBurst& burst, uint32_t) {
      return hostile_[side].contains(burst.connection);
    };
    start(std::move(options));
    for (size_t i = 0; i < count; ++i) {
      const ConnectionId client = connect();
      const size_t all = 2 + i;
      ASSERT_TRUE(pair_->run_until([&] { return seen(0) >= all && seen(1) >= all; }, seconds(4)));
      hostile_[0].insert(client);
      hostile_[1].insert(notice(1).connection);
    }
  }

  // As many questions whether a message that is over can still be withdrawn as a packet holds, on
  // each hostile connection.
  void ask_whether_withdrawn() {
    for (const ConnectionId connection : hostile_[1]) ask_whether_withdrawn(connection);
  }

  void ask_whether_withdrawn(ConnectionId connection) {
    std::array<std::byte, 1100> packet{};
    ConnectionHeader header;
    header.connection = end(1).wire_id(connection);
    header.sent_at = pair_->now();
    header.reply_port = pair_->address(0).port;
    write_connection_header(header, packet.data());
    Writer writer{std::span(packet).subspan(kConnectionHeaderBytes)};
    while (writer.left() >= kCancelBytes) {
      write_cancel(FrameType::kCancelSend, {0, kFirstSequence.moved_by(-1)}, writer);
    }
    const auto bytes = static_cast<uint32_t>(packet.size() - writer.left());
    pair_->inject(1, pair_->address(0), std::span(packet).first(bytes), 1, bytes);
  }

  // 100,000 bytes arrive on the honest connection while the others go on asking.
  void expect_honest_message_arrives() {
    bool done = false;
    send(0, 100'000, 1);
    ASSERT_TRUE(end(1).post_send(pair_->now(), {server_, 0}, {memory_[1], 0, 100'000}, 2));
    ASSERT_TRUE(end(0).post_receive(pair_->now(), {client_, 0}, {memory_[0], 200'000, 100'000}, 2));
    for (int i = 0; i < 2000 && !done; ++i) {
      ask_whether_withdrawn();
      pair_->run_for(micros(50));
      for (const Completion& completion : ended(0)) {
        done = done || (completion.direction == Direction::kReceive && completion.ok);
      }
    }
    EXPECT_TRUE(done) << "nothing could leave on the other connection";
  }

  std::set<ConnectionId> hostile_[2];
};

TEST_F(NeighboursTest, AnswersThatAPeerNeverAcknowledgesTakeNoRecordsFromOtherConnections) {
  start_with_hostile_neighbours({}, 1);
  const size_t before = end(1).bytes_held();
  for (int i = 0; i < 4000; ++i) {
    ask_whether_withdrawn();
    pair_->run_for(micros(5));
  }
  ASSERT_EQ(end(1).connections(), 2u) << "the hostile peer was found out early";
  // What each connection may grow to, and what all share.
  const StrangerBudget budget = stranger_budget(EndpointOptions{});
  EXPECT_LT(end(1).bytes_held() - before, budget.each + (size_t{1} << 20));
  expect_honest_message_arrives();
}

// One such peer was bounded, but 55 of them held every record of what is in flight.
TEST_F(NeighboursTest, RecordsAreLeftForOtherConnectionsHoweverManyPeersAcknowledgeNothing) {
  PairOptions options;
  options.endpoint.max_sent_runs = 1024;
  start_with_hostile_neighbours(options, 12);
  for (int i = 0; i < 1000; ++i) {
    ask_whether_withdrawn();
    pair_->run_for(micros(5));
  }
  ASSERT_EQ(end(1).connections(), 13u) << "the hostile peers were found out early";
  expect_honest_message_arrives();
}

}  // namespace
}  // namespace heddle::transport
