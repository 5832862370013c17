// Posts, tests and closes from several threads at once; also run under TSan.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/testing/no_more_threads.h"
#include "engine/testing/endpoint_pair.h"

namespace heddle::engine {
namespace {

class EndpointThreads : public testing::TestWithParam<Drive> {
 protected:
  void SetUp() override {
    Options options;
    options.drive = GetParam();
    pair_ = make_endpoints(options);
    join(pair_);
  }

  EndpointPair pair_;
};

constexpr int kMessages = 300;

// Sends or receives kMessages on one channel and checks each.
void send_all(Endpoint& endpoint, Connection connection, Channel channel) {
  for (uint32_t i = 0; i < kMessages; ++i) {
    const auto bytes = pattern(1 + i * 37 % 20'000, i + channel);
    const Operation send = endpoint.send(connection, channel, bytes.data(), bytes.size()).value();
    Outcome outcome;
    if (i % 2 == 0) {
      outcome = endpoint.wait(send, kTestPatience);
    } else {
      while (!(outcome = endpoint.test(send)).done) std::this_thread::yield();
    }
    ASSERT_TRUE(outcome.ok);
  }
}

void receive_all(Endpoint& endpoint, Connection connection, Channel channel) {
  for (uint32_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> got(20'001);
    const Operation receive = endpoint.receive(connection, channel, got.data(), got.size()).value();
    const Outcome outcome = endpoint.wait(receive, kTestPatience);
    ASSERT_TRUE(outcome.ok);
    got.resize(outcome.bytes);
    ASSERT_TRUE(got == pattern(1 + i * 37 % 20'000, i + channel));
  }
}

TEST_P(EndpointThreads, EachThreadUsesItsOwnChannel) {
  std::vector<std::thread> threads;
  for (Channel channel = 0; channel < 2; ++channel) {
    threads.emplace_back([this, channel] { send_all(*pair_.client, pair_.to_server, channel); });
    threads.emplace_back([this, channel] { receive_all(*pair_.server, pair_.to_client, channel); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(EndpointThreads, OneThreadPostsAnotherTests) {
  std::array<std::atomic<uint64_t>, 16> mailbox{};
  std::thread tester([&] {
    for (int done = 0; done < kMessages;) {
      for (auto& slot : mailbox) {
        const Operation operation{slot.exchange(0)};
        if (!operation) continue;
        ASSERT_TRUE(pair_.client->wait(operation, kTestPatience).ok);
        ++done;
      }
      std::this_thread::yield();
    }
  });
  std::thread receiver([&] { receive_all(*pair_.server, pair_.to_client, 0); });
  std::vector<std::vector<std::byte>> kept;
  for (uint32_t i = 0; i < kMessages; ++i) {
    kept.push_back(pattern(1 + i * 37 % 20'000, i));
    const Operation send =
        pair_.client->send(pair_.to_server, 0, kept.back().data(), kept.back().size()).value();
    uint64_t empty = 0;
    while (!mailbox[i % mailbox.size()].compare_exchange_weak(empty, send.id)) {
      empty = 0;
      std::this_thread::yield();
    }
  }
  tester.join();
  receiver.join();
}

TEST_P(EndpointThreads, CloseWhileOtherThreadsPostAndTest) {
  std::atomic<bool> closed{false};
  std::thread poster([&] {
    std::vector<std::byte> bytes(5000);
    while (!closed) {
      const Result<Operation> send =
          pair_.client->send(pair_.to_server, 3, bytes.data(), bytes.size());
      if (!send) {
        std::this_thread::yield();
        continue;
      }
      const Outcome outcome = pair_.client->wait(*send, kTestPatience);
      ASSERT_TRUE(outcome.done);
    }
  });
  std::thread receiver([&] {
    std::vector<std::byte> bytes(5000);
    while (true) {
      const Result<Operation> receive =
          pair_.server->receive(pair_.to_client, 3, bytes.data(), bytes.size());
      if (!receive) return;
      const Outcome outcome = pair_.server->wait(*receive, kTestPatience);
      ASSERT_TRUE(outcome.done);
      if (!outcome.ok) return;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  static_cast<void>(pair_.client->close(pair_.to_server, kTestPatience));
  closed = true;
  poster.join();
  receiver.join();
}

INSTANTIATE_TEST_SUITE_P(All, EndpointThreads, testing::Values(Drive::kInline, Drive::kThread),
                         [](const auto& each) {
                           return each.param == Drive::kInline ? "Inline" : "Thread";
                         });

// A waiting thread needs the mutex briefly; a spinning driver must yield it.
TEST(EndpointSpin, AnAlwaysSpinningDriverDoesNotStarveWaitingThreads) {
  Options options;
  options.drive = Drive::kThread;
  options.spin = Spin::kAlways;
  EndpointPair pair = make_endpoints(options);
  join(pair);
  for (uint32_t i = 0; i < 50; ++i) {
    std::vector<std::byte> got(1'000);
    const auto sent = pattern(got.size(), i);
    const Operation receive =
        pair.server->receive(pair.to_client, 0, got.data(), got.size()).value();
    const Operation send = pair.client->send(pair.to_server, 0, sent.data(), sent.size()).value();
    ASSERT_TRUE(pair.server->wait(receive, kTestPatience).ok) << i;
    ASSERT_TRUE(pair.client->wait(send, kTestPatience).ok) << i;
    ASSERT_TRUE(got == sent);
  }
  std::vector<std::byte> got(8);
  const Operation receive = pair.server->receive(pair.to_client, 0, got.data(), got.size()).value();
  EXPECT_FALSE(pair.server->wait(receive, millis(20)).done) << "a wait ends by its time as well";
}

// One caller is away; its helper answers, so the other side's sends still complete.
TEST(EndpointHelper, DrivesWhileTheCallerIsAway) {
  Options options;
  options.transport.peer_dead_after = seconds(20);  // a helper may wait for a core
  EndpointPair pair = make_endpoints(options);
  join(pair);
  std::vector<std::byte> got(1 << 20);
  const auto sent = pattern(got.size(), 9);
  const Operation receive = pair.server->receive(pair.to_client, 0, got.data(), got.size()).value();
  const Operation send = pair.client->send(pair.to_server, 0, sent.data(), sent.size()).value();
  EXPECT_TRUE(pair.client->wait(send, kTestPatience).ok);
  // peek() runs no turn: only the helper has driven the server.
  Outcome outcome;
  for (int i = 0; i < 60'000 && !(outcome = pair.server->peek(receive)).done; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(outcome.ok);
  EXPECT_TRUE(got == sent);
}

TEST(EndpointWithoutThreads, OpenReturnsAnErrorAndThrowsNothing) {
  for (const Drive drive : {Drive::kInline, Drive::kThread}) {
    Options options;
    options.drive = drive;
    auto ends = PipeDatapath::make_pair();
    {
      const NoMoreThreads limit;
      const auto none = Endpoint::create(ends.first, options);
      ASSERT_FALSE(none);
      EXPECT_EQ(none.error().code, ErrorCode::kExhausted);
    }
    EXPECT_TRUE(Endpoint::create(ends.first, options));
  }
}

}  // namespace
}  // namespace heddle::engine
