// Communicators that are revoked, or lose a rank, and the ones that the ranks that are left make of
// them: their ranks, their connections, and that messages meet on these.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

std::string failure_of(Communicator& communicator, const Result<Request>& request) {
  if (!request) return request.error().message();
  const Result<void> ended = communicator.wait(*request, kPatience);
  return ended ? "no failure" : ended.error().message();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sums ones over all ranks: whether every element is their number.
bool sums_right(Communicator& communicator, size_t count) {
  std::vector<uint32_t> ones(count, 1);
  const Data data = {ones.data(), ones.data(), count, DataType::kUint32};
  if (failure_of(communicator, communicator.all_reduce(data, ReduceOp::kSum)) != "no failure") {
    return false;
  }
  return std::count(ones.begin(), ones.end(), communicator.size()) == static_cast<int64_t>(count);
}

std::unique_ptr<Communicator> make(LocalRanks& ranks, uint32_t rank,
                                   const std::shared_ptr<Links>& links, SharedMemory memory) {
  return std::move(Communicator::create(links, ranks.members(rank), {.shared_memory = memory}))
      .value();
}

class Shrink : public OverAll {};
INSTANTIATE_TEST_SUITE_P(Routes, Shrink, kAllRoutes,
                         [](const auto& each) { return way_name(each.param); });

TEST_P(Shrink, RevokeEndsTheCallsOfAllRanksWithOneError) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    std::string text = failure_of(communicator, communicator.barrier());
    std::vector<float> memory(300'000);
    const Data data = {memory.data(), memory.data(), memory.size()};
    if (communicator.rank() == 2) {
      communicator.revoke();
      text = failure_of(communicator, communicator.all_reduce(data, ReduceOp::kSum));
    } else if (text == "no failure") {
      const Result<Request> request = communicator.all_reduce(data, ReduceOp::kSum);
      text = failure_of(communicator, request);
    }
    EXPECT_TRUE(contains(text, "rank 2 revoked the communicator")) << text;
    EXPECT_EQ(communicator.failure()->code, ErrorCode::kCancelled);
  });
}

TEST_P(Shrink, TheRanksThatAreLeftGoOnInTheirOrder) {
  LocalRanks ranks({.ranks = 5, .shared_memory = GetParam()});
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto communicator = make(ranks, rank, links, GetParam());
    const std::string first = failure_of(*communicator, communicator->barrier());
    if (rank == 1) {
      // It ends in the middle of a call.
      std::vector<float> memory(200'000);
      const Data data = {memory.data(), memory.data(), memory.size()};
      static_cast<void>(communicator->all_reduce(data, ReduceOp::kSum).has_value());
      communicator.reset();
      return;
    }
    if (first == "no failure") {
      EXPECT_FALSE(sums_right(*communicator, 200'000));
    }
    Result<Communicator::Shrunk> shrunk = communicator->shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    communicator.reset();
    EXPECT_EQ(shrunk->former_ranks, (std::vector<uint32_t>{0, 2, 3, 4}));
    EXPECT_EQ(shrunk->former_ranks[shrunk->communicator->rank()], rank);
    EXPECT_EQ(shrunk->communicator->size(), 4U);
    for (const size_t count : {1U, 1000U, 300'000U}) {
      EXPECT_TRUE(sums_right(*shrunk->communicator, count)) << count;
    }
  });
}

// Each time in the middle of calls that are in different states on each rank.
TEST_P(Shrink, ConnectionsAreKeptAndMessagesMeetOnThemAgain) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  std::barrier all_done(4);  // a rank that revokes before fails the sums of the others
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto communicator = make(ranks, rank, links, GetParam());
    // Every two ranks connect.
    const std::vector<uint32_t> ones(4, 1);
    std::vector<uint32_t> theirs(4);
    const Data exchange = {ones.data(), theirs.data(), 1, DataType::kUint32};
    EXPECT_EQ(failure_of(*communicator, communicator->all_to_all(exchange)), "no failure");
    all_done.arrive_and_wait();
    const uint64_t connections = links->endpoint().statistics().connections_opened;
    std::vector<std::vector<float>> memory(12, std::vector<float>(20'000));
    for (uint32_t round = 0; round < 6; ++round) {
      const uint32_t revokes = round % 4;
      std::vector<Request> requests;
      for (size_t call = 0; call < memory.size(); ++call) {
        if (rank == revokes && call == 2 * size_t{round}) break;
        const size_t count = call % 2 == 0 ? memory[call].size() : 500;
        const Data data = {memory[call].data(), memory[call].data(), count};
        const Result<Request> request = communicator->all_reduce(data, ReduceOp::kSum);
        if (request) requests.push_back(*request);
      }
      if (rank == revokes) communicator->revoke();
      for (const Request request : requests) {
        static_cast<void>(communicator->wait(request, kPatience).has_value());
      }
      Result<Communicator::Shrunk> shrunk = communicator->shrink();
      if (!shrunk) {
        ADD_FAILURE() << shrunk.error().message();
        all_done.arrive_and_drop();
        return;
      }
      communicator = std::move(shrunk->communicator);
      EXPECT_EQ(communicator->size(), 4U) << "all are left";
      for (const size_t count : {1U, 3000U, 100'000U}) {
        EXPECT_TRUE(sums_right(*communicator, count)) << "round " << round;
      }
      all_done.arrive_and_wait();
    }
    EXPECT_EQ(links->endpoint().statistics().connections_opened, connections);
  });
}

TEST_P(Shrink, OfACommunicatorWhosePartsWorkLeavesThemAlone) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto whole = make(ranks, rank, links, GetParam());
    auto half = std::move(whole->split(static_cast<int32_t>(rank / 2), 0)).value();
    EXPECT_TRUE(sums_right(*half, 1000));
    if (rank == 3) whole->revoke();
    Result<Communicator::Shrunk> shrunk = whole->shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_TRUE(sums_right(*half, 100'000));
    EXPECT_TRUE(sums_right(*shrunk->communicator, 100'000));
  });
}

// Its process lives, but will not take part: as after a shrink() that ended with an error there.
TEST(Refused, ARankThatRefusesTheCommunicatorIsNotWaitedFor) {
  LocalRanks ranks({.ranks = 2});
  std::atomic<bool> ended = false;
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    if (rank == 1) {
      links->refuse(ranks.members(0).communicator);
      while (!ended) {
        links->endpoint().progress(millis(5));
        links->poll();
      }
      return;
    }
    auto communicator = make(ranks, rank, links, SharedMemory::kNever);
    const std::string text = failure_of(*communicator, communicator->barrier());
    EXPECT_TRUE(contains(text, "rank 1 is gone")) << text;
    ended = true;
  });
}

TEST(ShrinkOfTwo, EndsOnTheRankThatIsNoMajority) {
  LocalRanks ranks({.ranks = 2});
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    auto communicator = make(ranks, rank, links, SharedMemory::kNever);
    static_cast<void>(failure_of(*communicator, communicator->barrier()));
    if (rank == 0) {
      communicator->abort();
      communicator.reset();
      return;
    }
    const Result<Communicator::Shrunk> shrunk = communicator->shrink();
    ASSERT_FALSE(shrunk);
    EXPECT_EQ(shrunk.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(contains(shrunk.error().message(), "of 2 ranks only 1 came (1)"))
        << shrunk.error().message();
  });
}

}  // namespace
}  // namespace heddle::collectives
