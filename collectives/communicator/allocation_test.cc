// The steady state of collectives allocates nothing: counted by an operator new of this test
// program, in the threads that call.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "collectives/testing/local_ranks.h"

namespace {

thread_local uint64_t t_allocations = 0;

void* counted(std::size_t bytes) {
  ++t_allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// GCC 12 sees new and free through its own inlining and takes them for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace heddle::collectives {
namespace {

// Small and large calls of other shapes and algorithms, several at once.
void call_some(Communicator& communicator, std::vector<float>& memory) {
  Request requests[4];
  const auto in_place = [&memory](uint64_t offset, uint64_t count) {
    return Data{memory.data() + offset, memory.data() + offset, count};
  };
  const uint32_t next = (communicator.rank() + 1) % communicator.size();
  const uint32_t before = (communicator.rank() + communicator.size() - 1) % communicator.size();
  requests[0] = communicator.all_reduce(in_place(0, 100'000), ReduceOp::kSum).value();
  requests[1] = communicator.all_reduce(in_place(200'000, 10), ReduceOp::kMax).value();
  requests[2] = communicator.send(in_place(300'000, 500), next).value();
  requests[3] = communicator.receive(in_place(310'000, 500), before).value();
  for (const Request request : requests) {
    const Result<void> ended = communicator.wait(request, kPatience);
    ASSERT_TRUE(ended.has_value()) << ended.error().message();
  }
  ASSERT_TRUE(communicator.wait(communicator.barrier().value(), kPatience));
}

class CommunicatorAllocation : public OverAll {};
INSTANTIATE_TEST_SUITE_P(Ways, CommunicatorAllocation, kAllRoutes,
                         [](const auto& each) { return way_name(each.param); });

TEST_P(CommunicatorAllocation, RepeatedCallsAllocateNothing) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    std::vector<float> memory(400'000);
    // Pools grow to the number of simultaneous operations, which depends on the system's timing; a
    // call that allocates would do so in every round.
    constexpr int kRounds = 150;
    int quiet_rounds = 0;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t allocations_before = t_allocations;
      call_some(communicator, memory);
      quiet_rounds += t_allocations == allocations_before ? 1 : 0;
    }
    EXPECT_GE(quiet_rounds, kRounds / 2);
  });
}

}  // namespace
}  // namespace heddle::collectives
