// Communicators whose ranks post different calls, cancel, or never arrive: every rank gets an error
// that names the cause.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return AssertionSuccess();
  return AssertionFailure() << "'" << text << "' does not say '" << part << "'";
}

// The error in which a call must end.
std::string failure_of(Communicator& communicator, const Result<Request>& request) {
  if (!request) return request.error().message();
  const Result<void> ended = communicator.wait(*request, kPatience);
  return ended ? "no failure" : ended.error().message();
}

// Drives the endpoint without a call, until others have said what they wait for.
void drive_until(Communicator& communicator, const std::atomic<int>& told, int wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (told < wanted && std::chrono::steady_clock::now() < end) {
    communicator.test(Request{1}).has_value();
  }
}

// Waits with short timeouts until the error contains `right`.
void wait_until_reported(Communicator& communicator, Request request, const std::string& right) {
  std::string text;
  const Nanos until = seconds(20);
  for (Nanos waited; waited < until && !contains(text, right); waited += millis(5)) {
    const Result<void> ended = communicator.wait(request, millis(5));
    ASSERT_FALSE(ended);
    ASSERT_EQ(ended.error().code, ErrorCode::kTimeout);
    text = ended.error().message();
  }
  EXPECT_TRUE(contains(text, right)) << "told rank " << communicator.rank();
}

// Five ranks with a short straggler timeout. In a ring each rank waits for its neighbor, which may
// be waiting as well.
LocalOptions ring_of_five(SharedMemory shared_memory) {
  LocalOptions options{.ranks = 5, .shared_memory = shared_memory};
  options.communicator.stalled_after = millis(10);
  options.communicator.tuning.pinned[static_cast<size_t>(Collective::kAllReduce)] =
      Algorithm::kRing;
  return options;
}

// Rank 1 of three makes another call than the others; all must say what each did.
struct Difference {
  const char* name;
  Result<Request> (*usual)(Communicator&, std::vector<float>&);
  Result<Request> (*other)(Communicator&, std::vector<float>&);
  const char* usual_text;
  const char* other_text;
};

Data of(std::vector<float>& memory, uint64_t count, DataType type = DataType::kFloat32) {
  return {memory.data(), memory.data(), count, type};
}

const Difference kDifferences[] = {
    {"count", [](Communicator& c, auto& m) { return c.all_reduce(of(m, 100), ReduceOp::kSum); },
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 101), ReduceOp::kSum); },
     "allreduce of 100 float, sum", "allreduce of 101 float, sum"},
    {"nothing", [](Communicator& c, auto& m) { return c.all_reduce(of(m, 100), ReduceOp::kSum); },
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 0), ReduceOp::kSum); },
     "allreduce of 100 float, sum", "allreduce of 0 float, sum"},
    {"large_count",
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 300'000), ReduceOp::kSum); },
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 10), ReduceOp::kSum); },
     "allreduce of 300000 float, sum", "allreduce of 10 float, sum"},
    {"type", [](Communicator& c, auto& m) { return c.all_reduce(of(m, 100), ReduceOp::kSum); },
     [](Communicator& c, auto& m) {
       return c.all_reduce(of(m, 100, DataType::kInt32), ReduceOp::kSum);
     },
     "allreduce of 100 float, sum", "allreduce of 100 int32, sum"},
    {"operation",
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 90'000), ReduceOp::kSum); },
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 90'000), ReduceOp::kMax); },
     "allreduce of 90000 float, sum", "allreduce of 90000 float, max"},
    {"collective", [](Communicator& c, auto& m) { return c.broadcast(of(m, 100), 0); },
     [](Communicator& c, auto& m) { return c.all_reduce(of(m, 100), ReduceOp::kSum); },
     "broadcast of 100 float, root 0", "allreduce of 100 float, sum"},
    {"root", [](Communicator& c, auto& m) { return c.broadcast(of(m, 100), 0); },
     [](Communicator& c, auto& m) { return c.broadcast(of(m, 100), 1); },
     "broadcast of 100 float, root 0", "broadcast of 100 float, root 1"},
    {"barrier", [](Communicator& c, auto&) { return c.barrier(); },
     [](Communicator& c, auto& m) { return c.all_gather(of(m, 0)); }, "barrier",
     "allgather of 0 float"},
};

using DifferenceAndWay = std::tuple<Difference, SharedMemory>;
class DifferentCalls : public testing::TestWithParam<DifferenceAndWay> {};

TEST_P(DifferentCalls, AreNamedOnEveryRank) {
  const Difference difference = std::get<0>(GetParam());
  LocalOptions options{.ranks = 3, .shared_memory = std::get<1>(GetParam())};
  options.communicator.stalled_after = millis(50);
  LocalRanks ranks(options);
  ranks.run([&difference](Communicator& communicator) {
    std::vector<float> memory(1'000'000);
    // The others' failure may come before this rank has heard that the barrier is over; and a rank
    // whose own part is done finds out in the next call.
    std::string text = failure_of(communicator, communicator.barrier());
    const auto different = communicator.rank() == 1 ? difference.other : difference.usual;
    if (text == "no failure") text = failure_of(communicator, different(communicator, memory));
    if (text == "no failure") text = failure_of(communicator, communicator.barrier());
    EXPECT_TRUE(contains(text, "call 2, "));
    EXPECT_TRUE(contains(text, difference.usual_text));
    EXPECT_TRUE(contains(text, difference.other_text));
    EXPECT_TRUE(contains(text, "rank 1"));
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, DifferentCalls,
                         testing::Combine(testing::ValuesIn(kDifferences), kAllRoutes),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) +
                                  way_name(std::get<1>(each.param));
                         });

class CommunicatorFailure : public OverAll {};
INSTANTIATE_TEST_SUITE_P(Ways, CommunicatorFailure, kAllRoutes,
                         [](const auto& each) { return way_name(each.param); });

// The loop of a program that has other things to do than to wait.
TEST_P(CommunicatorFailure, DifferentCallsAreFoundByWhoOnlyTests) {
  LocalOptions options{.ranks = 3, .shared_memory = GetParam()};
  options.communicator.stalled_after = millis(50);
  LocalRanks ranks(options);
  ranks.run([](Communicator& communicator) {
    std::vector<float> memory(100);
    const Request request = communicator.rank() == 1
                                ? communicator.all_gather(of(memory, 0)).value()
                                : communicator.all_reduce(of(memory, 100), ReduceOp::kSum).value();
    Result<bool> ended = communicator.test(request);
    while (ended && !*ended) ended = communicator.test(request);
    std::string text = ended ? "no failure" : ended.error().message();
    if (ended) text = failure_of(communicator, communicator.barrier());
    EXPECT_TRUE(contains(text, "allgather of 0 float"));
    EXPECT_TRUE(contains(text, "allreduce of 100 float"));
  });
}

TEST_P(CommunicatorFailure, ARankThatIsGoneBeforeItConnectsIsNamed) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  ranks.drop(2);
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto communicator =
        std::move(Communicator::create(links, ranks.members(rank), {.shared_memory = GetParam()}))
            .value();
    std::vector<float> memory(100);
    const std::string text =
        failure_of(*communicator, communicator->all_reduce(of(memory, 100), ReduceOp::kSum));
    EXPECT_TRUE(contains(text, "rank 2 is gone"));
  });
}

TEST_P(CommunicatorFailure, AMessageOfAnotherLengthIsNamed) {
  LocalRanks ranks({.ranks = 2, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    std::vector<float> memory(100);
    const bool sends = communicator.rank() == 0;
    std::string text = failure_of(communicator, sends ? communicator.send(of(memory, 20), 1)
                                                      : communicator.receive(of(memory, 30), 0));
    // What was sent may have arrived well, and is found wrong there.
    if (sends && text == "no failure") text = failure_of(communicator, communicator.barrier());
    EXPECT_TRUE(contains(text, "send and recv of 20 float"));
    EXPECT_TRUE(contains(text, "send and recv of 30 float"));
  });
}

TEST_P(CommunicatorFailure, AWaitThatEndsNamesWhoIsMissing) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  std::atomic<int> told = 0;
  ranks.run([&told](Communicator& communicator) {
    std::vector<float> memory(10);
    // So that all are connected and know the tuning.
    ASSERT_EQ(failure_of(communicator, communicator.barrier()), "no failure");
    if (communicator.rank() == 2) {
      // It makes no call until the others have timed out.
      drive_until(communicator, told, 2);
    }
    const Request request = communicator.all_reduce(of(memory, 10), ReduceOp::kSum).value();
    if (communicator.rank() != 2) {
      const Result<void> ended = communicator.wait(request, millis(50));
      ++told;
      ASSERT_FALSE(ended);
      EXPECT_EQ(ended.error().code, ErrorCode::kTimeout);
      EXPECT_TRUE(contains(ended.error().message(), "call 2, allreduce of 10 float"));
      EXPECT_TRUE(contains(ended.error().message(), "waits for rank"));
    }
    EXPECT_TRUE(communicator.wait(request, kPatience)) << "it was only late";
  });
}

TEST_P(CommunicatorFailure, ARankThatHasNotCalledIsNamedByThoseWhoWaitForOthers) {
  LocalRanks ranks(ring_of_five(GetParam()));
  std::atomic<int> told = 0;
  ranks.run([&told](Communicator& communicator) {
    std::vector<float> memory(1000);
    ASSERT_EQ(failure_of(communicator, communicator.barrier()), "no failure");
    if (communicator.rank() == 2) drive_until(communicator, told, 4);
    const Request request = communicator.all_reduce(of(memory, 1000), ReduceOp::kSum).value();
    if (communicator.rank() != 2) {
      wait_until_reported(communicator, request,
                          "allreduce of 1000 float, sum waits for rank 2, which has not called it");
      ++told;
    }
    EXPECT_TRUE(communicator.wait(request, kPatience));
  });
}

TEST_P(CommunicatorFailure, ARankThatCameAfterOthersCalledItLateIsNamedNoMore) {
  // Rank 4 posts its call after all ranks were notified that it is late. Rank 3 waits for rank 2
  // alone, so no data shows it that rank 4 has arrived.
  LocalRanks ranks(ring_of_five(GetParam()));
  std::atomic<int> named_both = 0;
  std::atomic<int> named_one = 0;
  ranks.run([&](Communicator& communicator) {
    std::vector<float> memory(1000);
    ASSERT_EQ(failure_of(communicator, communicator.barrier()), "no failure");
    if (communicator.rank() == 4) drive_until(communicator, named_both, 3);
    if (communicator.rank() == 2) drive_until(communicator, named_one, 4);
    const Request request = communicator.all_reduce(of(memory, 1000), ReduceOp::kSum).value();
    if (communicator.rank() != 2 && communicator.rank() != 4) {
      wait_until_reported(communicator, request, "waits for ranks 2, 4, which have not called it");
      ++named_both;
    }
    if (communicator.rank() != 2) {
      wait_until_reported(communicator, request, "waits for rank 2, which has not called it");
      ++named_one;
    }
    EXPECT_TRUE(communicator.wait(request, kPatience));
  });
}

TEST_P(CommunicatorFailure, AbortEndsAllCallsAndAnotherCommunicatorWorks) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    Members members = ranks.members(rank);
    std::vector<float> memory(500'000, 1);
    for (int round = 0; round < 3; ++round) {
      auto communicator =
          std::move(Communicator::create(links, members, {.shared_memory = GetParam()})).value();
      std::vector<Result<Request>> requests;
      if (rank == 3) {
        ASSERT_EQ(failure_of(*communicator, communicator->barrier()), "no failure");
        communicator->abort();
      } else {
        // It stays away from all calls but the first, so that these cannot end well.
        if (const Result<Request> first = communicator->barrier()) communicator->forget(*first);
        for (int call = 0; call < 12; ++call) {
          const Data data = {memory.data(), memory.data(), memory.size() / 4};
          requests.push_back(communicator->all_reduce(data, ReduceOp::kSum));
        }
      }
      for (const Result<Request>& request : requests) {
        EXPECT_TRUE(
            contains(failure_of(*communicator, request), "rank 3 aborted the communicator"));
      }
      if (rank != 3) {
        EXPECT_FALSE(communicator->barrier()) << "it is of no more use";
        EXPECT_TRUE(communicator->failure().has_value());
      }
      ++members.communicator;
    }
    auto communicator =
        std::move(Communicator::create(links, members, {.shared_memory = GetParam()})).value();
    std::vector<float> ones(100, 1);
    const Data data = {ones.data(), ones.data(), 100};
    ASSERT_TRUE(
        communicator->wait(communicator->all_reduce(data, ReduceOp::kSum).value(), kPatience));
    EXPECT_EQ(ones, std::vector<float>(100, 4));
  });
}

TEST_P(CommunicatorFailure, ARankThatLeavesDuringCallsIsNamed) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  std::atomic<bool> left = false;
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto communicator =
        std::move(Communicator::create(links, ranks.members(rank), {.shared_memory = GetParam()}))
            .value();
    std::string text = failure_of(*communicator, communicator->barrier());
    std::vector<float> memory(1000);
    if (rank == 0) {
      ASSERT_EQ(text, "no failure");
      ASSERT_TRUE(communicator->all_reduce(of(memory, 1000), ReduceOp::kSum));
      communicator.reset();
      left = true;
      return;
    }
    // The others may be notified before their barrier ends.
    while (!left) communicator->advance();
    if (text == "no failure") {
      text = failure_of(*communicator, communicator->all_reduce(of(memory, 1000), ReduceOp::kSum));
    }
    EXPECT_TRUE(contains(text, "rank 0 ended the communicator with calls in progress"));
  });
}

TEST_P(CommunicatorFailure, RanksThatCountEachOtherDifferentlyAreNamed) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  std::atomic<int> ended = 0;
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    Members members = ranks.members(rank);
    if (rank == 2) members.addresses.push_back(members.addresses[0]);
    auto communicator =
        std::move(Communicator::create(links, members, {.shared_memory = GetParam()})).value();
    const std::string text = failure_of(*communicator, communicator->barrier());
    EXPECT_NE(text, "no failure");
    if (rank == 0) {
      EXPECT_TRUE(contains(text, "rank 2 says that there are 4 ranks"));
    }
    // A rank that connects only now gets the failure.
    communicator.reset();
    ++ended;
    while (ended < 3) {
      ranks.endpoint(rank).progress(millis(1));
      links->poll();
    }
  });
}

}  // namespace
}  // namespace heddle::collectives
