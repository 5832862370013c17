// What a communicator tells those who observe: which calls there were, what they did and when, and
// which messages were theirs.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "collectives/data_type.h"
#include "collectives/testing/local_ranks.h"
#include "events/memory_sink.h"

namespace heddle::collectives {
namespace {

using events::CallEnded;
using events::CallMade;
using events::CallStarted;

class Observed : public ::testing::Test {
 protected:
  // Two ranks, of whose endpoints each tells all to one sink.
  void run(const std::function<void(Communicator&)>& body) {
    LocalOptions options;
    options.engine.sink = &sink_;
    options.engine.transport.accept = true;
    LocalRanks ranks(options);
    ranks.run(body);
  }

  // Both ranks' endpoints tell it, so it has a lock.
  class Locked : public events::EachSink<Locked> {
   public:
    template <typename Event>
    void on_any(const Event& event) {
      const std::lock_guard lock(mutex_);
      kept_.on(event);
    }
    template <typename Event>
    std::vector<Event> all() const {
      return kept_.all<Event>();
    }

   private:
    std::mutex mutex_;
    events::MemorySink kept_;
  };

  static void broadcast(Communicator& communicator, uint64_t bytes, uint32_t root) {
    std::vector<std::byte> data(bytes);
    const Data all = {
        .input = data.data(), .output = data.data(), .count = bytes, .type = DataType::kUint8};
    const auto request = communicator.broadcast(all, root);
    ASSERT_TRUE(request.has_value());
    ASSERT_TRUE(communicator.wait(*request, kPatience).has_value());
  }

  template <typename Event>
  std::vector<Event> all() const {
    return sink_.all<Event>();
  }
  std::vector<CallMade> made(events::Operation operation) const {
    std::vector<CallMade> some;
    for (const CallMade& each : all<CallMade>()) {
      if (each.operation == operation) some.push_back(each);
    }
    return some;
  }

  Locked sink_;
};

TEST_F(Observed, ACallTellsWhatItIsAndItsEnd) {
  run([](Communicator& communicator) {
    std::vector<float> data(1000, 1.0F);
    const auto request = communicator.all_reduce(
        {.input = data.data(), .output = data.data(), .count = data.size()}, ReduceOp::kSum);
    ASSERT_TRUE(request.has_value());
    ASSERT_TRUE(communicator.wait(*request, kPatience).has_value());
  });
  const auto calls = made(events::Operation::kAllreduce);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].number, calls[1].number);
  for (const CallMade& call : calls) {
    EXPECT_EQ(call.communicator, 7u);
    EXPECT_EQ(call.count, 1000u);
    EXPECT_EQ(call.type, events::ElementType::kFloat);
    EXPECT_EQ(call.group, 0u);
    EXPECT_NE(call.call, 0u);
  }
  uint32_t ended = 0;
  for (const CallEnded& each : all<CallEnded>()) {
    EXPECT_TRUE(each.ok);
    ended += each.call == calls[0].call ? 1 : 0;
  }
  EXPECT_EQ(ended, 2u);
  EXPECT_EQ(all<events::CommunicatorMade>().size(), 2u);
  EXPECT_EQ(all<events::CommunicatorLinked>().size(), 2u);
  EXPECT_EQ(all<events::CommunicatorEnded>().size(), 2u);
  EXPECT_EQ(all<events::WaitBegun>().size(), all<events::WaitEnded>().size());
}

// The messages of a call are those on its channels while it is under way; what is more than its
// payload is a heading for each connection, channel and direction.
TEST_F(Observed, MessagesAddUpToThePayloadOfTheirCall) {
  constexpr uint64_t kBytes = 300'000;
  run([](Communicator& communicator) { broadcast(communicator, kBytes, 1); });
  CallStarted started;
  for (const CallStarted& each : all<CallStarted>()) {
    if (each.call != 0) started = each;
  }
  ASSERT_NE(started.call, 0u);
  uint64_t bytes = 0;
  std::map<uint16_t, bool> channels;
  for (const auto& message : all<events::MessageCompleted>()) {
    const bool its =
        message.channel >= started.channel && message.channel < started.channel + started.channels;
    if (!its || message.direction != events::Direction::kReceived) continue;
    bytes += message.bytes;
    channels[message.channel] = true;
  }
  EXPECT_EQ(bytes, kBytes + channels.size() * started.heading_bytes);
}

// Without it, a chunk of 256 KiB goes as four full bursts and a short one.
TEST_F(Observed, ChunksOverANetworkHoldWholeBursts) {
  constexpr uint64_t kBytes = 1 << 20;
  LocalOptions options;
  options.engine.sink = &sink_;
  options.communicator.tuning.pinned[static_cast<size_t>(Collective::kBroadcast)] =
      Algorithm::kRing;
  LocalRanks ranks(options);
  const uint32_t burst = ranks.endpoint(0).burst_payload_bytes();
  if (burst == 0) GTEST_SKIP() << "this kernel sends no bursts";
  ranks.run([burst](Communicator& communicator) {
    broadcast(communicator, kBytes, 0);
    EXPECT_EQ(communicator.tuning()->burst_payload_bytes, burst);
  });
  uint64_t bytes = 0;
  for (const auto& message : all<events::MessageCompleted>()) {
    if (message.direction != events::Direction::kReceived || message.bytes < burst) continue;
    bytes += message.bytes;
    EXPECT_TRUE(message.bytes % burst == 0 || bytes == kBytes) << message.bytes;
  }
  EXPECT_EQ(bytes, kBytes);
  for (const CallStarted& each : all<CallStarted>()) EXPECT_EQ(each.chunk_bytes, 256U << 10);
}

TEST_F(Observed, WhereRanksShareMemoryChunksHeedNoBursts) {
  LocalOptions options{.shared_memory = SharedMemory::kAuto};
  LocalRanks ranks(options);
  ranks.run([](Communicator& communicator) {
    const auto request = communicator.barrier();
    ASSERT_TRUE(request.has_value());
    ASSERT_TRUE(communicator.wait(*request, kPatience).has_value());
    EXPECT_EQ(communicator.tuning()->burst_payload_bytes, 0U);
  });
}

TEST_F(Observed, ASendTellsItsPeerAndItsGroup) {
  run([](Communicator& communicator) {
    std::array<int32_t, 2> data = {1, 2};
    const uint32_t other = 1 - communicator.rank();
    communicator.group_start();
    const Data out = {.input = data.data(), .count = 1, .type = DataType::kInt32};
    const Data in = {.output = &data[1], .count = 1, .type = DataType::kInt32};
    ASSERT_TRUE(communicator.send(out, other).has_value());
    ASSERT_TRUE(communicator.receive(in, other).has_value());
    const auto request = communicator.group_end();
    ASSERT_TRUE(communicator.wait(*request, kPatience).has_value());
  });
  const auto sends = made(events::Operation::kSend);
  const auto receives = made(events::Operation::kRecv);
  ASSERT_EQ(sends.size(), 2u);
  ASSERT_EQ(receives.size(), 2u);
  EXPECT_EQ(sends[0].root + sends[1].root, 1u);
  EXPECT_NE(sends[0].group, 0u);
  EXPECT_NE(sends[0].group, sends[0].call);
  for (const auto& wait : all<events::WaitBegun>()) EXPECT_EQ(wait.call, sends[0].group);
}

// Events have numbers of their own for what collectives name; these must stay the same.
TEST(ObservedNames, AreTheSame) {
  ASSERT_EQ(events::kOperationCount, kCollectives);
  ASSERT_EQ(events::kAlgorithmCount, kAlgorithms);
  ASSERT_EQ(events::kElementTypeCount, kDataTypes);
  for (uint8_t i = 0; i < kCollectives; ++i) {
    EXPECT_EQ(name_of(static_cast<events::Operation>(i)), name_of(static_cast<Collective>(i)));
  }
  for (uint8_t i = 0; i < kAlgorithms; ++i) {
    EXPECT_EQ(name_of(static_cast<events::Algorithm>(i)), name_of(static_cast<Algorithm>(i)));
  }
  for (uint8_t i = 0; i < kDataTypes; ++i) {
    EXPECT_EQ(name_of(static_cast<events::ElementType>(i)), name_of(static_cast<DataType>(i)));
  }
}

}  // namespace
}  // namespace heddle::collectives
