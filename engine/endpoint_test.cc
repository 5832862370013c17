// An endpoint keeps its contract in every drive mode: messages arrive complete and in order, waits
// end, causes of closes are reported, and memory may be registered or not.
#include "engine/endpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "engine/testing/endpoint_pair.h"

namespace heddle::engine {
namespace {

class EndpointByDrive : public testing::TestWithParam<Drive> {
 protected:
  void SetUp() override { make({}); }

  void make(Options options) {
    options.drive = GetParam();
    pair_ = make_endpoints(options);
  }

  // Both sides post and wait; checks the bytes.
  void exchange(size_t bytes, uint32_t seed) {
    const std::vector<std::byte> sent = pattern(bytes, seed);
    std::vector<std::byte> got(bytes);
    const Operation receive =
        pair_.server->receive(pair_.to_client, 0, got.data(), got.size()).value();
    const Operation send = pair_.client->send(pair_.to_server, 0, sent.data(), sent.size()).value();
    const Outcome sending = pair_.client->wait(send, kTestPatience);
    const Outcome receiving = pair_.server->wait(receive, kTestPatience);
    ASSERT_TRUE(sending.done && sending.ok);
    ASSERT_TRUE(receiving.done && receiving.ok);
    ASSERT_EQ(receiving.bytes, bytes);
    ASSERT_TRUE(sent == got);
  }

  EndpointPair pair_;
};

TEST_P(EndpointByDrive, MovesMessagesOfManySizes) {
  join(pair_);
  uint32_t seed = 0;
  for (const size_t bytes : {0U, 1U, 100U, 8191U, 8193U, 1U << 20, (3U << 20) + 17}) {
    exchange(bytes, ++seed);
  }
}

TEST_P(EndpointByDrive, SlicesOfRegisteredMemoryArrive) {
  join(pair_);
  std::vector<std::byte> source = pattern(300'000, 5);
  std::vector<std::byte> target(300'000);
  const Memory from = pair_.client->register_memory(source.data(), source.size()).value();
  const Memory to = pair_.server->register_memory(target.data(), target.size()).value();
  std::vector<Operation> sends;
  std::vector<Operation> receives;
  for (uint64_t i = 0; i < 10; ++i) {
    receives.push_back(
        pair_.server->receive(pair_.to_client, 2, to.slice(i * 30'000, 30'000)).value());
    sends.push_back(pair_.client->send(pair_.to_server, 2, from.slice(i * 30'000, 30'000)).value());
  }
  for (const Operation send : sends) EXPECT_TRUE(pair_.client->wait(send, kTestPatience).ok);
  for (const Operation receive : receives) {
    EXPECT_EQ(pair_.server->wait(receive, kTestPatience).bytes, 30'000U);
  }
  EXPECT_TRUE(source == target);
}

TEST_P(EndpointByDrive, MessagesPostedInNestedBatchesArrive) {
  join(pair_);
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> got(6, std::vector<std::byte>(100'000));
  for (uint32_t i = 0; i < got.size(); ++i) sent.push_back(pattern(got[i].size(), i));
  std::vector<Operation> sends;
  std::vector<Operation> receives;
  {
    const Endpoint::Batch receiving(*pair_.server);
    const Endpoint::Batch sending(*pair_.client);
    for (size_t i = 0; i < got.size(); ++i) {
      const Endpoint::Batch inner(*pair_.client);
      receives.push_back(
          pair_.server->receive(pair_.to_client, 3, got[i].data(), got[i].size()).value());
      sends.push_back(
          pair_.client->send(pair_.to_server, 3, sent[i].data(), sent[i].size()).value());
    }
  }
  for (const Operation send : sends) EXPECT_TRUE(pair_.client->wait(send, kTestPatience).ok);
  for (const Operation receive : receives) {
    EXPECT_TRUE(pair_.server->wait(receive, kTestPatience).ok);
  }
  EXPECT_TRUE(sent == got);
}

// Regression: each grant of one call's receives took its own packet.
TEST(EndpointBatch, GrantsOfOneBatchShareAPacket) {
  Options options;
  options.takeover_after = millis(300);  // keeps the helper from sending meanwhile
  EndpointPair pair = make_endpoints(options);
  join(pair);
  std::vector<std::byte> got(6 * 100'000);
  const auto sent_by_posting = [&](bool together) {
    const uint64_t before = pair.server->datapath_statistics().datagrams_sent;
    {
      std::optional<Endpoint::Batch> batch;
      if (together) batch.emplace(*pair.server);
      for (size_t i = 0; i < 5; ++i) {
        pair.server->forget(
            pair.server->receive(pair.to_client, 3, got.data() + i * 100'000, 100'000).value());
      }
    }
    return pair.server->datapath_statistics().datagrams_sent - before;
  };
  // Other packets may leave meanwhile, but not in every attempt.
  const auto least_of_three = [&](bool together) {
    return std::min(
        {sent_by_posting(together), sent_by_posting(together), sent_by_posting(together)});
  };
  EXPECT_EQ(least_of_three(false), 5U);
  EXPECT_EQ(least_of_three(true), 1U);
}

EndpointPair make_udp_endpoints(const NetworkOptions& network) {
  EndpointPair pair;
  Options options;
  options.transport.accept = true;
  // with several paths a burst is limited to a fraction of the window
  options.transport.default_paths = 1;
  pair.server = std::move(Endpoint::open(network, options)).value();
  pair.client = std::move(Endpoint::open(network, options)).value();
  pair.to_server = pair.client->connect(pair.server->local_address()).value();
  EXPECT_TRUE(pair.client->wait_open(pair.to_server, kTestPatience));
  pair.to_client = pair.server->accept(kTestPatience).value();
  return pair;
}

TEST(EndpointBursts, AMessageOfWholeBurstsNeedsNoShortOne) {
  EndpointPair pair = make_udp_endpoints({.bind = "127.0.0.1", .mtu_bytes = 9000});
  const uint32_t burst = pair.client->burst_payload_bytes();
  if (burst == 0) GTEST_SKIP() << "this kernel sends no bursts";
  ASSERT_EQ(burst, 7U * (9000 - 28 - transport::kDataHeaderBytes))
      << "64,000 bytes hold seven segments";
  std::vector<std::byte> sent(16 << 20);
  std::vector<std::byte> got(sent.size());
  const auto calls_for = [&](size_t bytes) {
    const Operation receive = pair.server->receive(pair.to_client, 0, got.data(), bytes).value();
    const uint64_t before = pair.client->datapath_statistics().transmit_calls;
    const Operation send = pair.client->send(pair.to_server, 0, sent.data(), bytes).value();
    EXPECT_TRUE(pair.client->wait(send, kTestPatience).ok);
    EXPECT_TRUE(pair.server->wait(receive, kTestPatience).ok);
    return pair.client->datapath_statistics().transmit_calls - before;
  };
  calls_for(sent.size());  // the window grows, and PMTU probes raise every path to 9000 bytes
  // Other packets may leave meanwhile, but not in every attempt.
  const auto least = [&](size_t bytes) {
    uint64_t calls = UINT64_MAX;
    for (int i = 0; i < 20; ++i) calls = std::min(calls, calls_for(bytes));
    return calls;
  };
  // One of them may be the message's announcement.
  const uint64_t whole = least(size_t{4} * burst);
  EXPECT_LE(whole, 5U);
  EXPECT_EQ(least(size_t{4} * burst - 1), whole);
  EXPECT_EQ(least(size_t{4} * burst + 1), whole + 1);
}

// Regression: a push sends one batch of bursts, so with more connections the rest waited for the
// next turn.
TEST(EndpointBatch, PostsOnManyConnectionsLeaveWhenTheBatchEnds) {
  constexpr size_t kConnections = 40;
  Options options;
  options.takeover_after = millis(300);
  EndpointPair pair = make_endpoints(options);
  std::vector<Connection> connections;
  for (size_t i = 0; i < kConnections; ++i) {
    join(pair);
    connections.push_back(pair.to_client);
  }
  std::vector<std::byte> got(100'000);
  const auto sent = [&pair] { return pair.server->datapath_statistics().datagrams_sent; };
  // So far the helper has driven, which also sends tail probes; from here on this thread drives.
  // The helper takes over again where this thread waits for a core, but not in every attempt.
  bool waited = false;
  for (int attempt = 0; attempt < 20 && !waited; ++attempt) {
    while (pair.server->progress(Nanos{})) continue;
    const uint64_t before = sent();
    {
      const Endpoint::Batch batch(*pair.server);
      for (const Connection connection : connections) {
        pair.server->forget(pair.server->receive(connection, 3, got.data(), got.size()).value());
      }
      waited = sent() == before;
    }
    EXPECT_GE(sent(), before + kConnections);
  }
  EXPECT_TRUE(waited);
}

TEST_P(EndpointByDrive, EagerMessageWaitsForItsReceive) {
  join(pair_);
  const std::string text = "ahead of its receive";
  const Operation send = pair_.client->send(pair_.to_server, 1, text.data(), text.size()).value();
  EXPECT_TRUE(pair_.server->progress(Nanos{}));  // the accepted connection
  EXPECT_FALSE(pair_.server->progress(millis(20)));
  std::string got(text.size(), '\0');
  const Operation receive =
      pair_.server->receive(pair_.to_client, 1, got.data(), got.size()).value();
  EXPECT_TRUE(pair_.server->wait(receive, kTestPatience).ok);
  EXPECT_EQ(got, text);
  EXPECT_TRUE(pair_.client->wait(send, kTestPatience).ok);
}

TEST_P(EndpointByDrive, GracefulCloseIsReportedOnBothSides) {
  join(pair_);
  exchange(1000, 1);
  const Result<void> closed = pair_.client->close(pair_.to_server, kTestPatience);
  EXPECT_TRUE(closed) << closed.error().message();
  EXPECT_EQ(pair_.client->status(pair_.to_server).error.code, ErrorCode::kInvalid);
  while (pair_.server->status(pair_.to_client).state != ConnectionState::kClosed) {
    ASSERT_TRUE(pair_.server->progress(kTestPatience));
  }
  EXPECT_TRUE(pair_.server->status(pair_.to_client).graceful);
}

TEST_P(EndpointByDrive, AbortEndsThePeersReceives) {
  join(pair_);
  std::vector<std::byte> buffer(100'000);
  const Operation receive =
      pair_.server->receive(pair_.to_client, 0, buffer.data(), buffer.size()).value();
  pair_.client->abort(pair_.to_server);
  const Outcome outcome = pair_.server->wait(receive, kTestPatience);
  EXPECT_TRUE(outcome.done);
  EXPECT_FALSE(outcome.ok);
}

TEST_P(EndpointByDrive, SilentPeerIsDeclaredDead) {
  Options options;
  options.transport.peer_dead_after = seconds(2);  // also one that waits for a core for as long
  make(options);
  join(pair_);
  std::vector<std::byte> buffer(100'000);
  pair_.client_end->set_cut(true);
  const Operation send =
      pair_.client->send(pair_.to_server, 0, buffer.data(), buffer.size()).value();
  const Outcome outcome = pair_.client->wait(send, kTestPatience);
  EXPECT_TRUE(outcome.done && !outcome.ok);
  EXPECT_EQ(outcome.error, ErrorCode::kPeerDead);
  EXPECT_EQ(pair_.client->status(pair_.to_server).error.code, ErrorCode::kPeerDead);
}

TEST_P(EndpointByDrive, ConnectToAnAbsentPeerTimesOut) {
  Options options;
  options.transport.handshake_timeout = seconds(1);
  make(options);
  pair_.client_end->set_cut(true);
  const Connection connection = pair_.client->connect(pair_.client_end->peer_address()).value();
  const Result<void> opened = pair_.client->wait_open(connection, kTestPatience);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kTimeout);
}

TEST_P(EndpointByDrive, WaitTimesOutAndTheOperationContinues) {
  join(pair_);
  std::string got(5, '\0');
  const Operation receive = pair_.server->receive(pair_.to_client, 0, got.data(), 5).value();
  EXPECT_FALSE(pair_.server->wait(receive, millis(5)).done);
  EXPECT_FALSE(pair_.server->test(receive).done);
  const Operation send = pair_.client->send(pair_.to_server, 0, "hello", 5).value();
  EXPECT_TRUE(pair_.client->wait(send, kTestPatience).ok);
  EXPECT_TRUE(pair_.server->wait(receive, kTestPatience).ok);
  EXPECT_EQ(got, "hello");
}

TEST_P(EndpointByDrive, CancelledReceiveEnds) {
  join(pair_);
  std::string got(5, '\0');
  const Operation receive = pair_.server->receive(pair_.to_client, 0, got.data(), 5).value();
  pair_.server->cancel(receive);
  const Outcome outcome = pair_.server->wait(receive, kTestPatience);
  EXPECT_TRUE(outcome.done && !outcome.ok);
  EXPECT_EQ(outcome.error, ErrorCode::kCancelled);
}

TEST_P(EndpointByDrive, PostOnAnUnknownConnectionFailsAtOnce) {
  std::string text = "x";
  const Result<Operation> send = pair_.client->send(12345, 0, text.data(), 1);
  ASSERT_FALSE(send);
  EXPECT_TRUE(send.error().code == ErrorCode::kClosed || send.error().code == ErrorCode::kInvalid);
}

TEST_P(EndpointByDrive, InterruptEndsProgress) {
  std::thread other([this] { pair_.server->interrupt(); });
  EXPECT_TRUE(pair_.server->progress(kTestPatience));
  other.join();
  EXPECT_FALSE(pair_.server->progress(Nanos{}));
}

TEST_P(EndpointByDrive, MemoryMayOutliveTheEndpoint) {
  std::vector<std::byte> bytes(100);
  const Memory memory = pair_.client->register_memory(bytes.data(), bytes.size()).value();
  pair_.client.reset();
  EXPECT_TRUE(memory);
}

INSTANTIATE_TEST_SUITE_P(All, EndpointByDrive, testing::Values(Drive::kInline, Drive::kThread),
                         [](const auto& each) {
                           return each.param == Drive::kInline ? "Inline" : "Thread";
                         });

TEST(EndpointFork, ChildIsRefusedAndParentContinues) {
  EndpointPair pair = make_endpoints({});
  join(pair);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = !pair.client->send(pair.to_server, 0, "x", 1) &&
                         !pair.client->connect(pair.client_end->peer_address());
    pair.client.reset();  // neither hangs nor sends in the parent's name
    pair.server.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Operation send = pair.client->send(pair.to_server, 0, "y", 1).value();
  char got = 0;
  const Operation receive = pair.server->receive(pair.to_client, 0, &got, 1).value();
  EXPECT_TRUE(pair.server->wait(receive, kTestPatience).ok);
  EXPECT_TRUE(pair.client->wait(send, kTestPatience).ok);
  EXPECT_EQ(got, 'y');
}

// Drive::kExternal, as in the simulator: one thread runs turns of both ends alternately.
TEST(EndpointExternal, MessagesArriveWhenTheOwnerRunsTheTurns) {
  Options options;
  options.drive = Drive::kExternal;
  EndpointPair pair = make_endpoints(options);
  pair.to_server = pair.client->connect(pair.client_end->peer_address()).value();
  std::string got(6, '\0');
  Operation receive;
  const Operation send = pair.client->send(pair.to_server, 0, "turned", 6).value();
  const Nanos give_up = pair.client->now() + kTestPatience;
  while (!receive || !pair.server->peek(receive).done) {
    ASSERT_LT(pair.client->now(), give_up);
    pair.client->turn();
    pair.server->turn();
    if (receive) continue;
    if (const auto accepted = pair.server->accept(Nanos{})) {
      receive = pair.server->receive(*accepted, 0, got.data(), got.size()).value();
    }
  }
  EXPECT_EQ(got, "turned");
  while (!pair.client->peek(send).done) {
    ASSERT_LT(pair.client->now(), give_up);
    pair.client->turn();
    pair.server->turn();
  }
}

// No RDMA NIC has the address of loopback.
TEST(EndpointDatapath, AutoIsUdpWhereNoRdmaNicCanBeUsed) {
  const auto made = Endpoint::open({.datapath = DatapathKind::kAuto, .bind = "127.0.0.1"}, {});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->capabilities().chunk_paths, 0);
  EXPECT_GT((*made)->capabilities().max_datagram_bytes, 0u);
}

}  // namespace
}  // namespace heddle::engine
