// Communicators that a progress thread drives, over real sockets: several threads post and wait,
// several communicators share a thread, and it sleeps when nothing is to be done.
#include "collectives/shared_communicator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/no_more_threads.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

using Handle = std::unique_ptr<SharedCommunicator>;
using Floats = std::vector<float>;

Call all_reduce(Floats& memory) {
  return {.collective = Collective::kAllReduce,
          .type = DataType::kFloat32,
          .count = memory.size(),
          .input = memory.data(),
          .output = memory.data()};
}

Call barrier() { return {.collective = Collective::kBarrier}; }

// "" where it ended well.
std::string end_of(const Result<PendingCall>& call) {
  if (!call) return call.error().message();
  const Result<void> ended = call->wait(kPatience);
  return ended ? "" : ended.error().message();
}

Handle make(const std::shared_ptr<ProgressThread>& thread, const Members& members,
            const CommunicatorOptions& options = {}) {
  auto made = SharedCommunicator::create(thread, members, options);
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return std::move(*made);
}

// Each rank has a progress thread, and a thread in which `body` runs.
void run_ranks(LocalRanks& ranks, uint32_t size,
               const std::function<void(uint32_t, const std::shared_ptr<ProgressThread>&)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back(
        [&, rank] { body(rank, ProgressThread::create(ranks.endpoint(rank)).value()); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedCommunicator, DataMovesWhileNobodyWaits) {
  LocalRanks ranks({.ranks = 3});
  run_ranks(ranks, 3, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    Floats memory(200'000, static_cast<float>(rank + 1));
    std::atomic<bool> ended = false;
    const Result<PendingCall> call =
        world->post(all_reduce(memory),
                    {.on_end = [&ended](const Result<void>& end) { ended = end.has_value(); }});
    ASSERT_TRUE(call.has_value());
    // Neither this thread nor any other but the progress threads touches an endpoint.
    while (!ended) std::this_thread::yield();
    EXPECT_TRUE(call->wait(kPatience).has_value());
    EXPECT_TRUE(call->done());
    EXPECT_TRUE(call->result().has_value());
    EXPECT_EQ(memory, Floats(200'000, 6));
    EXPECT_EQ(end_of(world->post(barrier())), "");
  });
}

TEST(SharedCommunicator, ThreadsShareOneThreadThroughCommunicatorsOfTheirOwn) {
  LocalRanks ranks({.ranks = 2});
  constexpr uint32_t kThreads = 3;
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    std::vector<std::thread> callers;
    for (uint32_t caller = 0; caller < kThreads; ++caller) {
      callers.emplace_back([&, caller] {
        Members members = ranks.members(rank);
        members.communicator = 100 + caller;
        const Handle mine = make(thread, members);
        for (size_t round = 0; round < 40; ++round) {
          Floats memory(1 + round * 257, static_cast<float>(rank + caller));
          ASSERT_EQ(end_of(mine->post(all_reduce(memory))), "");
          ASSERT_EQ(memory, Floats(memory.size(), static_cast<float>(1 + 2 * caller)));
        }
        ASSERT_EQ(end_of(mine->post(barrier())), "");
      });
    }
    for (std::thread& caller : callers) caller.join();
  });
}

TEST(SharedCommunicator, ThreadsPostToOneCommunicatorAndWaitForEachOthersCalls) {
  LocalRanks ranks({.ranks = 2});
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    // Both threads post the same calls, so their order does not matter.
    std::vector<Floats> memory(64, Floats(3000, static_cast<float>(rank)));
    std::vector<PendingCall> calls(memory.size());
    const auto post = [&](size_t first) {
      for (size_t i = first; i < memory.size(); i += 2) {
        calls[i] = world->post(all_reduce(memory[i])).value();
      }
    };
    std::thread even(post, 0);
    std::thread odd(post, 1);
    even.join();
    odd.join();
    const auto wait = [&] {
      for (const PendingCall& call : calls) ASSERT_TRUE(call.wait(kPatience).has_value());
    };
    std::thread other(wait);
    wait();
    other.join();
    for (const Floats& each : memory) EXPECT_EQ(each, Floats(3000, 1));
  });
}

TEST(SharedCommunicator, AGroupBeginsTogether) {
  LocalRanks ranks({.ranks = 3});
  run_ranks(ranks, 3, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    Floats sent(3, static_cast<float>(rank));
    Floats received(3, -1);
    std::vector<Call> calls;
    for (uint32_t peer = 0; peer < 3; ++peer) {
      Call call = {.type = DataType::kFloat32, .root = peer, .count = 1};
      call.collective = Collective::kSend;
      call.input = &sent[peer];
      calls.push_back(call);
      call.collective = Collective::kReceive;
      call.input = nullptr;
      call.output = &received[peer];
      calls.push_back(call);
    }
    const auto group = world->post_group(std::move(calls));
    ASSERT_TRUE(group.has_value()) << group.error().message();
    ASSERT_EQ(group->size(), 6U);
    for (const PendingCall& call : *group) EXPECT_TRUE(call.wait(kPatience).has_value());
    EXPECT_EQ(received, Floats({0, 1, 2}));
  });
}

TEST(SharedCommunicator, SplitsAndTheirPartsOutliveTheWhole) {
  LocalRanks ranks({.ranks = 4});
  run_ranks(ranks, 4, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    Handle world = make(thread, ranks.members(rank));
    auto part = world->split(rank == 3 ? -1 : 0, -static_cast<int32_t>(rank), kPatience);
    ASSERT_TRUE(part.has_value()) << part.error().message();
    EXPECT_EQ(end_of(world->post(barrier())), "");
    world.reset();
    if (rank == 3) {
      EXPECT_EQ(*part, nullptr);
      return;
    }
    EXPECT_EQ((*part)->rank(), 2 - rank);
    Floats memory(10, static_cast<float>(rank));
    EXPECT_EQ(end_of((*part)->post(all_reduce(memory))), "");
    EXPECT_EQ(memory, Floats(10, 3));
    EXPECT_EQ(end_of((*part)->post(barrier())), "");
  });
}

TEST(SharedCommunicator, InvalidCallsAreRefusedAtOnce) {
  LocalRanks ranks({.ranks = 1});
  run_ranks(ranks, 1, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    const auto refused = world->post({.collective = Collective::kBroadcast,
                                      .root = 7,
                                      .count = 1,
                                      .input = &rank,
                                      .output = &rank});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    Members wrong = ranks.members(rank);
    wrong.rank = 5;
    EXPECT_FALSE(SharedCommunicator::create(thread, wrong).has_value());
  });
}

// --- what does not end well ---

TEST(SharedCommunicator, AWaitThatEndsNamesWhoIsMissingAndTheCallGoesOn) {
  LocalRanks ranks({.ranks = 2});
  std::atomic<bool> told = false;
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    ASSERT_EQ(end_of(world->post(barrier())), "");
    while (rank == 1 && !told) std::this_thread::yield();
    Floats memory(10, 1);
    const PendingCall call = world->post(all_reduce(memory)).value();
    if (rank == 0) {
      const Result<void> ended = call.wait(millis(20));
      told = true;
      ASSERT_FALSE(ended.has_value());
      EXPECT_EQ(ended.error().code, ErrorCode::kTimeout);
      EXPECT_NE(ended.error().message().find("allreduce of 10 float, sum waits for rank 1"),
                std::string::npos)
          << ended.error().message();
    }
    EXPECT_TRUE(call.wait(kPatience).has_value());
    EXPECT_EQ(memory, Floats(10, 2));
  });
}

TEST(SharedCommunicator, ACallThatIsTooLateFailsEverywhereAndNamesWhoIsMissing) {
  LocalRanks ranks({.ranks = 3});
  std::atomic<int> told = 0;
  run_ranks(ranks, 3, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    Floats memory(10, 1);
    std::string text = end_of(world->post(barrier()));
    if (rank == 2) {
      while (told < 2) std::this_thread::yield();
      if (text.empty()) text = end_of(world->post(all_reduce(memory)));
    } else {
      if (text.empty()) text = end_of(world->post(all_reduce(memory), {.timeout = millis(30)}));
      ++told;
    }
    EXPECT_NE(text.find("timed out after 0.0 s"), std::string::npos) << text;
    EXPECT_NE(text.find("waits for rank"), std::string::npos) << text;
    EXPECT_TRUE(world->failure().has_value());
  });
}

TEST(SharedCommunicator, AbortEndsCallsOnAllRanks) {
  LocalRanks ranks({.ranks = 2});
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    const Handle world = make(thread, ranks.members(rank));
    Floats memory(10, 1);
    std::string text = end_of(world->post(barrier()));
    if (rank == 1) world->abort();
    if (rank == 0 && text.empty()) text = end_of(world->post(all_reduce(memory)));
    if (rank == 0) {
      EXPECT_NE(text.find("rank 1 aborted the communicator"), std::string::npos) << text;
    }
    // The thread is none the worse.
    Members again = ranks.members(rank);
    ++again.communicator;
    EXPECT_EQ(end_of(make(thread, again)->post(all_reduce(memory))), "");
  });
}

TEST(SharedCommunicator, CallsInFlightFailWhenItIsDestroyed) {
  LocalRanks ranks({.ranks = 2});
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    Handle world = make(thread, ranks.members(rank));
    Floats memory(10, 1);
    if (rank == 1) {
      std::string text = end_of(world->post(barrier()));
      if (text.empty()) text = end_of(world->post(all_reduce(memory)));
      EXPECT_NE(text, "");
      return;
    }
    const std::string met = end_of(world->post(barrier()));
    Floats received(1);
    const Result<PendingCall> call = world->post({.collective = Collective::kReceive,
                                                  .type = DataType::kFloat32,
                                                  .root = 1,
                                                  .count = 1,
                                                  .output = received.data()});
    world.reset();
    EXPECT_NE(end_of(call), "");
    EXPECT_EQ(met, "");
  });
}

// --- the thread itself ---

TEST(ProgressThread, SleepsWhileNothingIsUnderWay) {
  LocalRanks ranks({.ranks = 1});
  const std::shared_ptr<ProgressThread> thread = ProgressThread::create(ranks.endpoint(0)).value();
  const Handle alone = make(thread, ranks.members(0));
  const uint64_t before = thread->turns();
  constexpr uint64_t kCalls = 50;
  for (uint64_t i = 0; i < kCalls; ++i) ASSERT_EQ(end_of(alone->post(barrier())), "");
  // A thread that spins takes thousands between two calls.
  EXPECT_LE(thread->turns() - before, 8 * kCalls);
}

TEST(ProgressThread, LetsGoOfCommunicatorsThatHaveLeft) {
  LocalRanks ranks({.ranks = 2});
  run_ranks(ranks, 2, [&](uint32_t rank, const std::shared_ptr<ProgressThread>& thread) {
    for (uint64_t i = 0; i < 20; ++i) {
      Members members = ranks.members(rank);
      members.communicator = 50 + i;
      ASSERT_EQ(end_of(make(thread, members)->post(barrier())), "");
    }
    while (thread->communicators() > 0) std::this_thread::yield();
  });
}

TEST(ProgressThread, ThatTheSystemDoesNotAllowIsAnErrorAndNothingIsThrown) {
  LocalRanks ranks({.ranks = 1});
  {
    const NoMoreThreads limit;
    const auto none = ProgressThread::create(ranks.endpoint(0));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kExhausted);
  }
  EXPECT_TRUE(ProgressThread::create(ranks.endpoint(0)));
}

TEST(ProgressThread, SurvivesAnOnEndThatThrows) {
  LocalRanks ranks({.ranks = 1});
  const std::shared_ptr<ProgressThread> thread = ProgressThread::create(ranks.endpoint(0)).value();
  auto alone = make(thread, ranks.members(0));
  CallOptions options;
  options.on_end = [](const Result<void>&) { throw std::runtime_error("a user's mistake"); };
  EXPECT_EQ(end_of(alone->post(barrier(), std::move(options))), "");
  EXPECT_EQ(end_of(alone->post(barrier())), "");
}

// Events of waits are wanted, and kept nowhere.
class WantsWaits final : public events::EachSink<WantsWaits> {
 public:
  events::KindSet wanted() const override { return {events::EventKind::kWaitBegun}; }
  template <typename Event>
  void on_any(const Event& /*event*/) {}
};

// The progress thread is kept inside the end of a call, and another thread waits for it.
TEST(ProgressThread, ChildIsRefusedByEveryCallWhileItsParentIsInTheMidstOfOne) {
  WantsWaits sink;
  LocalRanks ranks({.ranks = 1, .sinks = {&sink}});
  const std::shared_ptr<ProgressThread> thread = ProgressThread::create(ranks.endpoint(0)).value();
  auto alone = make(thread, ranks.members(0));
  std::promise<void> inside;
  std::promise<void> open;
  CallOptions options;
  options.on_end = [&](const Result<void>&) {
    inside.set_value();
    open.get_future().wait();
  };
  const PendingCall call = alone->post(barrier(), std::move(options)).value();
  inside.get_future().wait();
  constexpr AwaitedObject kObject{.bytes = sizeof(uintptr_t), .first_words = {1}};
  alone->watch_caller(call, kObject);  // so that its thread is one that the child lacks
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    const auto closed = [](const auto& result) {
      return !result && result.error().code == ErrorCode::kClosed;
    };
    bool refused = closed(call.wait()) && call.done() && closed(call.result());
    { const PendingCall::Waiting waiting(call); }
    refused = refused && closed(alone->post(barrier())) && closed(alone->post_group({}));
    refused = refused && closed(alone->split(0, 0)) && alone->failure().has_value();
    refused = refused && closed(alone->shrink());
    alone->revoke();
    alone->watch_caller(call, kObject);
    refused = refused && alone->rank() == 0 && alone->size() == 1 && alone->members().size() == 1;
    refused = refused && closed(SharedCommunicator::create(thread, ranks.members(0)));
    alone->abort();
    alone->abort(ErrorCode::kCancelled, "why");
    alone.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  open.set_value();
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(call.wait());
}

TEST(ProgressThread, IsRefusedInAChildAndGoesOnInTheParent) {
  LocalRanks ranks({.ranks = 1});
  const std::shared_ptr<ProgressThread> thread = ProgressThread::create(ranks.endpoint(0)).value();
  auto alone = make(thread, ranks.members(0));
  Floats memory(10, 2);
  const pid_t child = fork();
  if (child == 0) {
    const Result<PendingCall> call = alone->post(all_reduce(memory));
    const bool refused = !call && call.error().code == ErrorCode::kClosed;
    alone.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(end_of(alone->post(all_reduce(memory))), "");
}

}  // namespace
}  // namespace heddle::collectives
