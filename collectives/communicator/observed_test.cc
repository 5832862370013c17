// The events of a communicator: its calls, their phases and times, and their messages.
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "collectives/data_type.h"
#include "collectives/event_names.h"
#include "collectives/shared_communicator.h"
#include "collectives/testing/local_ranks.h"
#include "events/memory_sink.h"

namespace heddle::collectives {
namespace {

using events::CallEnded;
using events::CallMade;
using events::CallStarted;

class Observed : public ::testing::Test {
 protected:
  // Two ranks whose endpoints emit all events to one sink.
  void run(const std::function<void(Communicator&)>& body) {
    LocalOptions options;
    options.engine.sink = &sink_;
    options.engine.transport.accept = true;
    LocalRanks ranks(options);
    ranks.run(body);
  }

  // Locked, since both ranks' endpoints emit to it.
  class Locked : public events::EachSink<Locked> {
   public:
    template <typename Event>
    void on_any(const Event& event) {
      const std::lock_guard lock(mutex_);
      kept_.on(event);
    }
    template <typename Event>
    std::vector<Event> all() const {
      const std::lock_guard lock(mutex_);
      return kept_.all<Event>();
    }

   private:
    mutable std::mutex mutex_;
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

TEST_F(Observed, ACallIsRecordedWithItsShapeAndItsEnd) {
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

// The messages of a call are those on its channels while it runs; besides payload they carry one
// header per connection, channel and direction.
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

// Two ranks' communicators, each driven by its own thread. Recordings of PyTorch once had no waits:
// its callers wait in threads outside of the communicator.
class ObservedWaits : public Observed {
 protected:
  using Body = std::function<void(SharedCommunicator&, uint32_t)>;
  void run_shared(const Body& body) {
    LocalOptions options;
    options.engine.sink = &sink_;
    options.engine.transport.accept = true;
    LocalRanks ranks(options);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        const std::shared_ptr<ProgressThread> thread =
            ProgressThread::create(ranks.endpoint(rank)).value();
        const auto made = SharedCommunicator::create(thread, ranks.members(rank), {});
        ASSERT_TRUE(made.has_value());
        body(**made, rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void await(size_t begun) const {
    while (all<events::WaitBegun>().size() < begun) std::this_thread::yield();
  }
  static PendingCall barrier(SharedCommunicator& communicator) {
    return communicator.post({.collective = Collective::kBarrier}).value();
  }
  void expect_waits(size_t count) const {
    const auto begun = all<events::WaitBegun>();
    const auto ended = all<events::WaitEnded>();
    ASSERT_EQ(begun.size(), count);
    ASSERT_EQ(ended.size(), count);
    const auto barriers = made(events::Operation::kBarrier);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(begun[i].call, barriers.front().call);
      EXPECT_EQ(begun[i].communicator, barriers.front().communicator);
      EXPECT_LE(begun[i].time, ended[i].time);
    }
  }
};

TEST_F(ObservedWaits, OfOtherThreadsAreTold) {
  run_shared([this](SharedCommunicator& communicator, uint32_t rank) {
    if (rank == 0) await(1);
    const PendingCall call = barrier(communicator);
    if (rank == 1) {
      EXPECT_TRUE(call.wait(kPatience).has_value());
    }
    while (!call.done()) std::this_thread::yield();
    EXPECT_TRUE(call.wait(kPatience).has_value());  // it has ended: no wait
  });
  expect_waits(1);
}

TEST_F(ObservedWaits, ThatEndBeforeTheCallOrAreByOtherMeansAreTold) {
  run_shared([this](SharedCommunicator& communicator, uint32_t rank) {
    if (rank == 0) await(2);
    const PendingCall call = barrier(communicator);
    if (rank == 1) {
      EXPECT_FALSE(call.wait(Nanos{}).has_value());  // that is a question
      EXPECT_FALSE(call.wait(millis(5)).has_value());
      const PendingCall::Waiting waiting(call);
      const PendingCall::Waiting another(call);  // of another thread, say
      while (!call.done()) std::this_thread::yield();
    }
    while (!call.done()) std::this_thread::yield();
  });
  expect_waits(2);
}

TEST_F(ObservedWaits, EndWithTheirCommunicator) {
  run_shared([this](SharedCommunicator& communicator, uint32_t rank) {
    if (rank == 0) return await(1);  // and goes
    const PendingCall call = barrier(communicator);
    EXPECT_FALSE(call.wait(kPatience).has_value());
  });
  expect_waits(1);
}

// As a future of another library, which the end of a call completes.
struct Future {
  uintptr_t first = 0x5eed'face'f00d;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
};

TEST_F(ObservedWaits, ByOtherMeansAreSeenByTheSleepOfTheirThread) {
  run_shared([this](SharedCommunicator& communicator, uint32_t rank) {
    if (rank == 0) await(1);
    Future future;
    CallOptions options;
    options.on_end = [&future](const Result<void>&) {
      const std::lock_guard lock(future.mutex);
      future.done = true;
      future.ended.notify_all();
    };
    const PendingCall call =
        communicator.post({.collective = Collective::kBarrier}, std::move(options)).value();
    if (rank == 1) communicator.watch_caller(call, {sizeof(Future), {future.first}});
    std::unique_lock lock(future.mutex);
    future.ended.wait(lock, [&future] { return future.done; });
    lock.unlock();
    while (!call.done()) std::this_thread::yield();
  });
  expect_waits(1);
}

// Events have numbers of their own for what collectives name; these must stay the same.
TEST(ObservedNames, AreTheSame) {
  ASSERT_EQ(events::kOperationCount, kCollectives);
  // NCCL's own follow behind those of collectives.
  ASSERT_EQ(static_cast<uint8_t>(events::Algorithm::kNvls),
            static_cast<uint8_t>(Algorithm::kTwoLevel));
  ASSERT_EQ(events::kElementTypeNames[kDataTypes], "float8_e4m3");
  for (uint8_t i = 0; i < kCollectives; ++i) {
    EXPECT_EQ(name_of(static_cast<events::Operation>(i)), name_of(static_cast<Collective>(i)));
  }
  for (uint8_t i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(name_of(name_in_events(algorithm)), name_of(algorithm));
  }
  for (uint8_t i = 0; i < kDataTypes; ++i) {
    EXPECT_EQ(name_of(static_cast<events::ElementType>(i)), name_of(static_cast<DataType>(i)));
  }
}

}  // namespace
}  // namespace heddle::collectives
