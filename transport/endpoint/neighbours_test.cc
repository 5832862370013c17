// What a hostile peer can do to the other connections of the endpoint that it talks to: nothing.
#include <gtest/gtest.h>

#include <array>

#include "transport/stranger_budget.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class NeighboursTest : public testing::PairFixture {
 protected:
  // A second connection of both sides, of which nothing arrives any more: the test speaks for it.
  void start_with_a_hostile_neighbour(PairOptions options) {
    options.drop = [this](int side, const TxBurst& burst, uint32_t) {
      return hostile_[side] != 0 && burst.connection == hostile_[side];
    };
    start(std::move(options));
    const ConnectionId client = connect();
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) >= 2 && seen(1) >= 2; }, seconds(4)));
    hostile_[0] = client;
    hostile_[1] = notice(1).connection;
  }

  // As many questions whether a message that is over can still be withdrawn as a packet holds.
  void ask_whether_withdrawn() {
    std::array<std::byte, 1100> packet{};
    ConnectionHeader header;
    header.connection = end(1).wire_id(hostile_[1]);
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

  ConnectionId hostile_[2] = {0, 0};
};

TEST_F(NeighboursTest, AnswersThatAPeerNeverAcknowledgesTakeNoRecordsFromOtherConnections) {
  start_with_a_hostile_neighbour({});
  const size_t before = end(1).bytes_held();
  for (int i = 0; i < 4000; ++i) {
    ask_whether_withdrawn();
    pair_->run_for(micros(5));
  }
  ASSERT_EQ(end(1).connections(), 2u) << "the hostile peer was found out early";
  // What each connection may grow to, and what all share.
  const StrangerBudget budget = stranger_budget(EndpointOptions{});
  EXPECT_LT(end(1).bytes_held() - before, budget.each + (size_t{1} << 20));
  bool done = false;
  send(0, 100'000, 1);
  ASSERT_TRUE(end(1).post_send(pair_->now(), server_, 0, {memory_[1], 0, 100'000}, 2));
  ASSERT_TRUE(end(0).post_receive(pair_->now(), client_, 0, {memory_[0], 200'000, 100'000}, 2));
  for (int i = 0; i < 2000 && !done; ++i) {
    ask_whether_withdrawn();
    pair_->run_for(micros(50));
    for (const Completion& completion : ended(0)) {
      done = done || (completion.direction == Direction::kReceive && completion.ok);
    }
  }
  EXPECT_TRUE(done) << "nothing could leave on the other connection";
}

}  // namespace
}  // namespace heddle::transport
