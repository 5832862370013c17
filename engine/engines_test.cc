// An endpoint with several engines, over UDP, AF_XDP (which needs root) and RDMA (in the virtual
// machine): order, fairness, and every call that finds its engine. Also run under TSan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "datapath/xdp/testing/wired_hosts.h"
#include "engine/endpoint.h"
#include "engine/testing/endpoint_pair.h"

namespace heddle::engine {
namespace {

enum class Over : uint8_t { kUdp, kXdp, kRc, kUc, kUd };

struct Numbers {
  uint8_t client = 1;
  uint8_t server = 1;
  Over over = Over::kUdp;
};

std::unique_ptr<Endpoint> open(uint8_t engines, bool accept, Options options = {},
                               const NetworkOptions& network = {.bind = "127.0.0.1"}) {
  options.engines = engines;
  options.transport.accept = accept;
  auto opened = Endpoint::open(network, options);
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

uint32_t engine_of(Connection connection, uint8_t engines) {
  return connection & transport::EngineShare{.count = engines}.mask();
}

// Two connected endpoints with `count` connections between them.
struct Joined {
  std::unique_ptr<Endpoint> client;
  std::unique_ptr<Endpoint> server;
  std::vector<Connection> to_server;
  std::vector<Connection> to_client;  // in the order of to_server

  void join(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      to_server.push_back(client->connect(server->local_address()).value());
      const Result<void> opened = client->wait_open(to_server.back(), kTestPatience);
      ASSERT_TRUE(opened) << opened.error().message();
      const std::optional<Connection> accepted = server->accept(kTestPatience);
      ASSERT_TRUE(accepted);
      to_client.push_back(*accepted);
    }
  }
};

class Engines : public testing::TestWithParam<Numbers> {
 protected:
  void SetUp() override {
    if (GetParam().over == Over::kUdp) return;
    if (GetParam().over == Over::kXdp) {
      auto made = datapath::WiredHosts::create({});
      if (!made) GTEST_SKIP() << made.error().message();
      hosts_ = std::move(*made);
    }
    const Result<void> probed = probe();
    if (!probed) GTEST_SKIP() << probed.error().message();
  }

  Joined joined(size_t count, const Options& options = {}) {
    return joined(count, options, options);
  }
  Joined joined(size_t count, const Options& at_client, const Options& at_server) {
    Joined made;
    on_host(true, [&] { made.client = open(GetParam().client, false, at_client, network(true)); });
    on_host(false, [&] { made.server = open(GetParam().server, true, at_server, network(false)); });
    made.join(count);
    return made;
  }

 private:
  static NetworkOptions network(bool client) {
    switch (GetParam().over) {
      case Over::kUdp:
        return {.bind = "127.0.0.1"};
      case Over::kXdp:
        return {.datapath = DatapathKind::kXdp,
                .xdp_mode = datapath::XdpMode::kCopy,
                .bind = client ? "10.8.0.1" : "10.8.0.2"};
      default:
        break;
    }
    const datapath::RdmaMode mode = GetParam().over == Over::kRc   ? datapath::RdmaMode::kReliable
                                    : GetParam().over == Over::kUc ? datapath::RdmaMode::kUnreliable
                                                                   : datapath::RdmaMode::kDatagrams;
    return {.datapath = DatapathKind::kVerbs,
            .rdma_mode = mode,
            .bind = client ? "10.9.0.1" : "10.9.0.2"};
  }
  template <typename Work>
  void on_host(bool client, Work work) {
    if (!hosts_) return work();
    (client ? hosts_->a() : hosts_->b()).run(work);
  }
  // Whether this network is here, and the rights that it needs.
  Result<void> probe() {
    Result<void> done;
    on_host(true, [&] {
      const auto opened = Endpoint::open(network(true), {});
      if (!opened) done = fail(opened.error());
    });
    return done;
  }

  std::unique_ptr<datapath::WiredHosts> hosts_;
};

const char* name_of(Over over) {
  switch (over) {
    case Over::kUdp:
      return "";
    case Over::kXdp:
      return "xdp_";
    case Over::kRc:
      return "rc_";
    case Over::kUc:
      return "uc_";
    case Over::kUd:
      return "ud_";
  }
  return "";
}

// Over AF_XDP one receive queue serves all engines of an interface.
INSTANTIATE_TEST_SUITE_P(Numbers, Engines,
                         testing::Values(Numbers{1, 1}, Numbers{1, 2}, Numbers{2, 1}, Numbers{2, 3},
                                         Numbers{4, 2}, Numbers{1, 2, Over::kXdp},
                                         Numbers{3, 2, Over::kXdp}, Numbers{2, 2, Over::kRc},
                                         Numbers{1, 2, Over::kUc}, Numbers{2, 3, Over::kUd}),
                         [](const auto& numbers) {
                           return name_of(numbers.param.over) +
                                  std::to_string(numbers.param.client) + "_to_" +
                                  std::to_string(numbers.param.server);
                         });

constexpr uint32_t kMessages = 60;

size_t bytes_of(uint32_t message) { return 1 + message * 7919 % 70'000; }

void send_all(Endpoint& endpoint, Connection connection, uint32_t seed) {
  for (uint32_t i = 0; i < kMessages; ++i) {
    const auto bytes = pattern(bytes_of(i), seed + i);
    const Operation send = endpoint.send(connection, 0, bytes.data(), bytes.size()).value();
    ASSERT_TRUE(endpoint.wait(send, kTestPatience).ok);
  }
}

void receive_all(Endpoint& endpoint, Connection connection, uint32_t seed) {
  for (uint32_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> got(70'001);
    const Operation receive = endpoint.receive(connection, 0, got.data(), got.size()).value();
    const Outcome outcome = endpoint.wait(receive, kTestPatience);
    ASSERT_TRUE(outcome.ok);
    got.resize(outcome.bytes);
    ASSERT_TRUE(got == pattern(bytes_of(i), seed + i)) << "message " << i << " of " << seed;
  }
}

TEST_P(Engines, MessagesOfEachConnectionArriveInOrderInBothDirections) {
  Joined pair = joined(4);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { send_all(*pair.client, pair.to_server[i], 1000 * i); });
    threads.emplace_back([&, i] { receive_all(*pair.server, pair.to_client[i], 1000 * i); });
    threads.emplace_back([&, i] { send_all(*pair.server, pair.to_client[i], 7000 + i); });
    threads.emplace_back([&, i] { receive_all(*pair.client, pair.to_server[i], 7000 + i); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Engines, ConnectionsAreSplitEvenlyOnBothSides) {
  const auto [client, server, over] = GetParam();
  const size_t count = size_t{client} * server * 2;
  const Joined pair = joined(count);
  std::vector<size_t> at_client(client);
  std::vector<size_t> at_server(server);
  for (const Connection each : pair.to_server) ++at_client.at(engine_of(each, client));
  for (const Connection each : pair.to_client) ++at_server.at(engine_of(each, server));
  for (const size_t each : at_client) EXPECT_EQ(each, count / client);
  // Acceptors do not choose; with more engines at the peer, turns may be uneven.
  for (const size_t each : at_server) EXPECT_GE(each, count / server / 2);
}

TEST_P(Engines, RegisteredMemoryServesConnectionsOfEveryEngine) {
  Joined pair = joined(4);
  std::vector<std::byte> source = pattern(300'000, 5);
  std::vector<std::byte> target(source.size() * 4);
  // Other regions come and go, so that the engines' own numbers differ.
  std::array<char, 8> other{};
  Memory gone = pair.server->register_memory(other.data(), other.size()).value();
  const Memory from = pair.client->register_memory(source.data(), source.size()).value();
  gone.reset();
  const Memory to = pair.server->register_memory(target.data(), target.size()).value();
  std::vector<Operation> sends;
  std::vector<Operation> receives;
  for (size_t i = 0; i < 4; ++i) {
    const auto buffer = to.slice(i * source.size(), source.size());
    receives.push_back(pair.server->receive(pair.to_client[i], 0, buffer).value());
    sends.push_back(pair.client->send(pair.to_server[i], 0, from.whole()).value());
  }
  for (const Operation each : receives) EXPECT_TRUE(pair.server->wait(each, kTestPatience).ok);
  for (const Operation each : sends) EXPECT_TRUE(pair.client->wait(each, kTestPatience).ok);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::equal(source.begin(), source.end(), target.data() + i * source.size()));
  }
}

TEST_P(Engines, HandlesAreDistinctAndNameTheirConnection) {
  Joined pair = joined(4);
  EXPECT_EQ(std::set<Connection>(pair.to_server.begin(), pair.to_server.end()).size(), 4U);
  std::set<uint64_t> operations;
  std::array<char, 1> byte{};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair.client->status(pair.to_server[i]).state, ConnectionState::kOpen);
    EXPECT_TRUE(pair.client->statistics(pair.to_server[i]));
    EXPECT_FALSE(pair.client->path_statistics(pair.to_server[i]).empty());
    EXPECT_GT(pair.client->source_port(pair.to_server[i], 0, 0), 0);
    const Operation receive =
        pair.client->receive(pair.to_server[i], 0, byte.data(), byte.size()).value();
    EXPECT_TRUE(operations.insert(receive.id).second);
    EXPECT_FALSE(pair.client->peek(receive).done);
    pair.client->cancel(receive);
    EXPECT_EQ(pair.client->wait(receive, kTestPatience).error, ErrorCode::kCancelled);
  }
  for (const Connection unknown : {Connection{0}, Connection{0xffffffff}, Connection{0x00010003}}) {
    EXPECT_EQ(pair.client->status(unknown).state, ConnectionState::kClosed);
    EXPECT_FALSE(pair.client->send(unknown, 0, byte.data(), byte.size()));
    EXPECT_FALSE(pair.client->fix_paths(unknown, {}));
    pair.client->abort(unknown);
  }
}

TEST_P(Engines, CloseAndAbortEndTheConnectionOnBothSides) {
  Joined pair = joined(4);
  std::array<char, 1> byte{};
  std::vector<Operation> receives;
  for (const Connection each : pair.to_client) {
    receives.push_back(pair.server->receive(each, 0, byte.data(), byte.size()).value());
  }
  for (size_t i = 0; i < 4; ++i) {
    if (i % 2 == 0) {
      EXPECT_TRUE(pair.client->close(pair.to_server[i], kTestPatience));
    } else {
      pair.client->abort(pair.to_server[i]);
    }
    const Outcome ended = pair.server->wait(receives[i], kTestPatience);
    EXPECT_EQ(ended.error, ErrorCode::kClosed);
    EXPECT_EQ(pair.server->status(pair.to_client[i]).state, ConnectionState::kClosed);
    EXPECT_FALSE(pair.client->send(pair.to_server[i], 0, byte.data(), byte.size()));
  }
  EXPECT_EQ(pair.server->statistics().connections_closed, 4U);
}

TEST_P(Engines, ProgressReturnsForEventsOfEveryEngineAndAfterAnInterrupt) {
  Joined pair = joined(4);
  std::array<char, 1> byte{};
  std::array<char, 1> sent{};
  for (size_t i = 0; i < 4; ++i) {
    const Operation receive =
        pair.server->receive(pair.to_client[i], 0, byte.data(), byte.size()).value();
    while (pair.server->take_changes()) {
    }
    pair.client->forget(pair.client->send(pair.to_server[i], 0, sent.data(), 1).value());
    while (!pair.server->peek(receive).done) ASSERT_TRUE(pair.server->progress(kTestPatience));
  }
  while (pair.server->progress(millis(20))) {
  }
  EXPECT_FALSE(pair.server->take_changes());
  std::thread interrupter([&] { pair.server->interrupt(); });
  EXPECT_TRUE(pair.server->progress(kTestPatience));
  interrupter.join();
}

// Equal connections that all have work: when one has moved all of its messages, none was left out.
TEST_P(Engines, OfTwiceAsManyConnectionsAsEnginesNoneStarves) {
  const size_t count = 2 * size_t{std::max(GetParam().client, GetParam().server)};
  Options options;
  options.drive = Drive::kThread;
  Joined pair = joined(count, options);
  constexpr size_t kBytes = 64 << 10;
  constexpr size_t kAhead = 4;
  constexpr uint64_t kEach = 200;
  std::vector<std::byte> bytes(kBytes * (1 + count * kAhead));
  const Memory from = pair.client->register_memory(bytes.data(), bytes.size()).value();
  const Memory to = pair.server->register_memory(bytes.data(), bytes.size()).value();
  struct Stream {
    std::array<Operation, kAhead> sends;
    std::array<Operation, kAhead> receives;
    uint64_t done = 0;
  };
  std::vector<Stream> streams(count);
  const auto post = [&](size_t i, size_t at) {
    Stream& stream = streams[i];
    const auto buffer = to.slice((1 + i * kAhead + at) * kBytes, kBytes);
    stream.receives[at] = pair.server->receive(pair.to_client[i], 0, buffer).value();
    stream.sends[at] = pair.client->send(pair.to_server[i], 0, from.slice(0, kBytes)).value();
  };
  for (size_t i = 0; i < count; ++i) {
    for (size_t at = 0; at < kAhead; ++at) post(i, at);
  }
  // Threads share two cores with other tests: one that gets none for a while moves nothing then.
  constexpr uint64_t kLeast = kEach / 100;
  const auto is_behind = [](const Stream& stream) { return stream.done < kLeast; };
  uint64_t most = 0;
  const Nanos end = pair.server->now() + kTestPatience;
  while ((most < kEach || std::any_of(streams.begin(), streams.end(), is_behind)) &&
         pair.server->now() < end) {
    ASSERT_TRUE(pair.server->progress(kTestPatience));
    for (size_t i = 0; i < count; ++i) {
      Stream& stream = streams[i];
      while (true) {
        const size_t at = stream.done % kAhead;
        const Outcome outcome = pair.server->peek(stream.receives[at]);
        if (!outcome.done) break;
        ASSERT_TRUE(outcome.ok);
        most = std::max(most, ++stream.done);
        pair.client->forget(stream.sends[at]);
        post(i, at);
      }
    }
  }
  for (const Stream& stream : streams) EXPECT_GE(stream.done, kLeast);
  for (size_t i = 0; i < count; ++i) pair.client->abort(pair.to_server[i]);
  for (size_t i = 0; i < count; ++i) pair.server->abort(pair.to_client[i]);
}

TEST_P(Engines, AClientWithKeysMeetsAServerWithKeysAndNewKeysReachEveryEngine) {
  const auto key = [](int byte) {
    transport::ClusterKey made{};
    made.secret.fill(static_cast<std::byte>(byte));
    return made;
  };
  Options options;
  options.transport.keys = {key(1)};
  Joined pair = joined(2, options);
  const std::array<transport::ClusterKey, 1> later = {key(2)};
  ASSERT_TRUE(pair.client->set_keys(later));
  ASSERT_TRUE(pair.server->set_keys(later));
  pair.join(4);
  std::thread receiver([&] { receive_all(*pair.server, pair.to_client.back(), 3); });
  send_all(*pair.client, pair.to_server.back(), 3);
  receiver.join();
}

// Not to be called by two threads at once.
class OneAtATime final : public events::EachSink<OneAtATime> {
 public:
  template <typename Event>
  void on_any(const Event&) {
    overlaps |= busy_.exchange(true);
    completed += Event::kKind == events::EventKind::kMessageCompleted;
    marked += Event::kKind == events::EventKind::kMark;
    busy_ = false;
  }
  bool overlaps = false;
  uint64_t completed = 0;
  uint64_t marked = 0;

 private:
  std::atomic<bool> busy_ = false;
};

TEST_P(Engines, EventsOfAllEnginesReachTheSinkOneAtATime) {
  OneAtATime sink;
  {
    Options options;
    options.sink = &sink;
    Joined pair = joined(4, options, {});
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { send_all(*pair.client, pair.to_server[i], i); });
      threads.emplace_back([&, i] { receive_all(*pair.server, pair.to_client[i], i); });
    }
    for (uint32_t i = 0; i < kMessages; ++i) pair.client->observe(events::Mark{});
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(sink.completed, 4 * kMessages);
  EXPECT_EQ(sink.marked, kMessages);
  EXPECT_FALSE(sink.overlaps);
}

TEST(EnginesOpen, APortOfSeveralEnginesIsInUseForAnyOther) {
  const auto first = open(2, true);
  Options options;
  for (const uint8_t engines : {uint8_t{1}, uint8_t{2}}) {
    options.engines = engines;
    const auto second =
        Endpoint::open({.bind = "127.0.0.1", .port = first->local_address().port}, options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  }
}

TEST(EnginesOpen, MoreThanTheMostAreRefused) {
  Options options;
  for (const uint8_t engines : {uint8_t{0}, uint8_t{17}}) {
    options.engines = engines;
    const auto opened = Endpoint::open({.bind = "127.0.0.1"}, options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_NE(opened.error().message().find("1 to 16"), std::string::npos);
  }
}

TEST(EnginesOpen, TheSumOfMemoryLimitsIsThatOfOneEngine) {
  const size_t one = open(1, true)->bytes_held();
  const size_t four = open(4, true)->bytes_held();
  EXPECT_LT(four, 5 * one);
}

}  // namespace
}  // namespace heddle::engine
