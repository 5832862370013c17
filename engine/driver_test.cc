// The driver's turns: it returns the right time for the next one, keeps bursts that the network
// refuses, and never sends from memory that has been unregistered.
#include "engine/driver.h"

#include <gtest/gtest.h>

#include "engine/testing/endpoint_pair.h"

namespace heddle::engine {
namespace {

class Turns : public testing::Test {
 protected:
  void SetUp() override { start(); }

  void start(bool predicts = false) {
    Options options;
    options.drive = Drive::kExternal;
    pair_ = make_endpoints(options, predicts);
    pair_.to_server = pair_.client->connect(pair_.client_end->peer_address()).value();
    std::optional<Connection> accepted;
    turn_until([&] {
      if (!accepted) accepted = pair_.server->accept(Nanos{});
      return accepted && pair_.client->status(pair_.to_server).state == ConnectionState::kOpen;
    });
    pair_.to_client = accepted.value_or(0);
  }

  template <typename Done>
  void turn_until(Done done) {
    const Nanos give_up = pair_.client->now() + kTestPatience;
    while (!done()) {
      ASSERT_LT(pair_.client->now(), give_up);
      pair_.client->turn();
      pair_.server->turn();
    }
  }

  // Runs turns of the client alone until the network is full and bursts wait in its driver.
  void fill_network() {
    while (pair_.client->driver_statistics().turns_refused < 3) pair_.client->turn();
  }

  EndpointPair pair_;
};

TEST_F(Turns, NextTurnIsLaterWhenNothingIsDue) {
  const Nanos give_up = pair_.client->now() + kTestPatience;
  Nanos wanted;
  do {
    ASSERT_LT(pair_.client->now(), give_up);
    wanted = pair_.client->turn();
    pair_.server->turn();
  } while (wanted <= pair_.client->now() + millis(1));
  std::vector<std::byte> bytes(100);
  const Operation send = pair_.client->send(pair_.to_server, 0, bytes.data(), bytes.size()).value();
  const uint64_t outputs = pair_.client->driver_statistics().turns_with_output;
  while (pair_.client->driver_statistics().turns_with_output == outputs) {
    ASSERT_LT(pair_.client->now(), give_up);
    wanted = pair_.client->turn();
  }
  EXPECT_LE(wanted, pair_.client->now());  // it has sent, so more may be pending
  pair_.client->forget(send);
}

// Regression: an owner that took turns rarely received one message per turn.
TEST_F(Turns, OneTurnTakesSeveralMessagesThatEachFillAPlace) {
  for (int i = 0; i < 100; ++i) {  // drains everything in flight
    pair_.client->turn();
    pair_.server->turn();
  }
  pair_.server_end->set_fills_places();
  std::vector<std::byte> bytes(1000);
  for (int i = 0; i < 10; ++i) {
    pair_.client->forget(pair_.client->send(pair_.to_server, 0, bytes.data(), 1000).value());
    pair_.client->turn();
  }
  const uint64_t before = pair_.server->datapath_statistics().datagrams_received;
  pair_.server->turn();
  EXPECT_EQ(pair_.server->datapath_statistics().datagrams_received, before + 4);
}

TEST_F(Turns, NoPredictionIntoMemoryThatIsFilledOnArrival) {
  start(true);
  std::vector<std::byte> bytes(100'000);
  std::vector<std::byte> got(bytes.size());
  const Memory from = pair_.client->register_memory(bytes.data(), bytes.size()).value();
  const Memory into = pair_.server->register_memory(got.data(), got.size()).value();
  for (const auto fill : {transport::Fill::kAtOnce, transport::Fill::kOnArrival}) {
    // Predictions continue from the last received payload.
    const Operation first =
        pair_.server->receive(pair_.to_client, 0, got.data(), got.size()).value();
    pair_.client->forget(pair_.client->send(pair_.to_server, 0, from.whole()).value());
    turn_until([&] { return pair_.server->peek(first).done; });
    const Operation second = pair_.server->receive(pair_.to_client, 0, into.whole(), fill).value();
    pair_.server->turn();
    const bool predicted = pair_.server_end->predicted().region == into.whole().region;
    EXPECT_EQ(predicted, fill == transport::Fill::kAtOnce);
    pair_.server->fill_at_once(second);
    pair_.server->turn();
    EXPECT_EQ(pair_.server_end->predicted().region, into.whole().region);
    pair_.client->forget(pair_.client->send(pair_.to_server, 0, from.whole()).value());
    turn_until([&] { return pair_.server->peek(second).done; });
  }
}

TEST_F(Turns, BurstsThatTheNetworkRefusesAreKept) {
  pair_.client_end->set_limit(64);
  const std::vector<std::byte> sent = pattern(4 << 20, 3);
  std::vector<std::byte> got(sent.size());
  const Operation receive =
      pair_.server->receive(pair_.to_client, 0, got.data(), got.size()).value();
  const Operation send = pair_.client->send(pair_.to_server, 0, sent.data(), sent.size()).value();
  for (int i = 0; i < 10; ++i) pair_.server->turn();  // the grant is in flight
  fill_network();
  turn_until([&] { return pair_.server->peek(receive).done; });
  EXPECT_TRUE(got == sent);
  turn_until([&] { return pair_.client->peek(send).done; });
}

TEST_F(Turns, NothingIsSentFromUnregisteredMemory) {
  pair_.client_end->set_limit(64);
  auto bytes = std::make_unique<std::vector<std::byte>>(4 << 20);
  std::vector<std::byte> got(bytes->size());
  Memory memory = pair_.client->register_memory(bytes->data(), bytes->size()).value();
  const Operation receive =
      pair_.server->receive(pair_.to_client, 0, got.data(), got.size()).value();
  const Operation send = pair_.client->send(pair_.to_server, 0, memory.whole()).value();
  for (int i = 0; i < 10; ++i) pair_.server->turn();
  fill_network();
  // The operation ends while its bursts still wait; from then on the caller owns the memory.
  pair_.client->abort(pair_.to_server);
  while (!pair_.client->peek(send).done) pair_.client->turn();
  memory.reset();
  bytes.reset();
  turn_until([&] { return pair_.server->peek(receive).done; });
  for (int i = 0; i < 100; ++i) {
    pair_.client->turn();
    pair_.server->turn();
  }
}

// Found by VOPR, seed 758 of its first options: a message arrived complete but corrupt.
TEST_F(Turns, NothingIsSentFromMemoryReusedAfterAnAbort) {
  std::vector<std::byte> bytes = pattern(5'000, 3);
  const Memory memory = pair_.client->register_memory(bytes.data(), bytes.size()).value();
  std::vector<std::byte> got(bytes.size());
  const Operation receive =
      pair_.server->receive(pair_.to_client, 0, got.data(), got.size()).value();
  for (int i = 0; i < 10; ++i) pair_.server->turn();
  for (int i = 0; i < 10; ++i) pair_.client->turn();  // it has received the grant
  pair_.client_end->set_limit(0);
  const Operation send = pair_.client->send(pair_.to_server, 0, memory.whole()).value();
  fill_network();
  pair_.client->abort(pair_.to_server);
  while (!pair_.client->peek(send).done) pair_.client->turn();
  std::fill(bytes.begin(), bytes.end(), std::byte{0x77});
  pair_.client_end->set_limit(256);
  Outcome outcome;
  turn_until([&] { return (outcome = pair_.server->peek(receive)).done; });
  EXPECT_FALSE(outcome.ok);
}

// Found by simulated jobs that grow: the copy of a message that came before its receive was made by
// the next turn, into memory that the caller had reclaimed by then.
TEST_F(Turns, AnEarlyMessageIsNotCopiedAfterAnAbort) {
  const std::vector<std::byte> sent = pattern(200, 4);
  const Operation send = pair_.client->send(pair_.to_server, 0, sent.data(), sent.size()).value();
  turn_until([&] {
    return pair_.server->statistics(pair_.to_client)->payload_bytes_received == sent.size();
  });
  std::vector<std::byte> got(sent.size());
  Memory memory = pair_.server->register_memory(got.data(), got.size()).value();
  const Operation receive = pair_.server->receive(pair_.to_client, 0, memory.whole()).value();
  pair_.server->abort(pair_.to_client);
  std::fill(got.begin(), got.end(), std::byte{0x77});
  memory.reset();
  for (int i = 0; i < 20; ++i) {
    pair_.server->turn();
    pair_.client->turn();
  }
  EXPECT_TRUE(pair_.server->peek(receive).done);
  EXPECT_TRUE(pair_.client->peek(send).done);
  EXPECT_EQ(std::count(got.begin(), got.end(), std::byte{0x77}), std::ptrdiff_t(got.size()));
}

}  // namespace
}  // namespace heddle::engine
