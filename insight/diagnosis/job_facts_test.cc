// Facts of damaged recordings, whose events fit no job; and the index of what is kept of them.
#include "insight/diagnosis/job_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::insight {
namespace {

constexpr uint64_t kPair = 7;   // communicator of two ranks
constexpr uint64_t kCrowd = 8;  // of many, of which two were recorded

class JobFactsTest : public ::testing::Test {
 protected:
  JobFactsTest() : facts_(4) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      facts_.add_process({{"host", "h" + std::to_string(rank)}}, {});
      facts_.add(rank, events::CommunicatorMade{{}, kPair, rank, 2}, 0);
      facts_.add(rank, events::CommunicatorMade{{}, kCrowd, rank, 100}, 0);
    }
  }
  void make(uint32_t process, uint64_t communicator, uint32_t call, uint64_t number,
            uint64_t count = 100) {
    facts_.add(process,
               events::CallMade{{},
                                communicator,
                                call,
                                number,
                                events::Operation::kAllreduce,
                                events::ElementType::kFloat,
                                count,
                                0,
                                0},
               ++now_);
  }
  void run(uint32_t process, uint32_t call) {
    facts_.add(process, events::CallStarted{{}, kPair, call}, ++now_);
    facts_.add(process, events::CallEnded{{}, kPair, call, true}, ++now_);
  }

  static std::vector<uint64_t> numbers_of(const OperationIndex::Operations& operations) {
    std::vector<uint64_t> numbers;
    for (const auto& [key, operation] : operations) numbers.push_back(operation->key.number);
    return numbers;
  }
  // That a pass over all operations finds what the index has.
  void expect_index() {
    std::vector<uint64_t> unfinished;
    std::vector<uint64_t> different;
    std::map<uint64_t, OperationIndex::Ended> collectives;
    size_t ended = 0;
    int64_t longest_ns = 0;
    for (const auto& [key, operation] : facts_.operations()) {
      if (operation.differs) different.push_back(key.number);
      if (operation.ended == kNever) {
        unfinished.push_back(key.number);
        continue;
      }
      ++ended;
      longest_ns = std::max(longest_ns, operation.ended - operation.began);
      if (operation.differs) continue;
      collectives[key.communicator].emplace(std::pair(operation.ended, key), &operation);
    }
    EXPECT_EQ(numbers_of(facts_.index().unfinished()), unfinished);
    EXPECT_EQ(numbers_of(facts_.index().different()), different);
    EXPECT_EQ(facts_.index().ended(), ended);
    EXPECT_TRUE(facts_.index().collectives() == collectives);
    EXPECT_EQ(facts_.index().longest_ns(), longest_ns);
  }

  JobFacts facts_;
  int64_t now_ = 0;
};

TEST_F(JobFactsTest, TheIndexIsWhatAPassOverAllOperationsFinds) {
  expect_index();
  for (uint32_t rank = 0; rank < 2; ++rank) make(rank, kPair, 1, 1);
  expect_index();
  now_ += 1000;
  for (uint32_t rank = 0; rank < 2; ++rank) run(rank, 1);
  EXPECT_GT(facts_.index().longest_ns(), 1000);
  expect_index();
  for (uint32_t rank = 0; rank < 2; ++rank) make(rank, kPair, 2, 2, 100 + rank);
  EXPECT_EQ(facts_.index().different().size(), 1u);
  expect_index();
  for (uint32_t rank = 0; rank < 2; ++rank) make(rank, kPair, 3, 3);
  EXPECT_EQ(facts_.operations_dropped(), 1u) << "the one that has ended";
  EXPECT_EQ(facts_.index().longest_ns(), 0);
  expect_index();
  for (uint32_t rank = 0; rank < 2; ++rank) run(rank, 3);
  expect_index();
  make(0, kPair, 4, 4);
  expect_index();
  facts_.set_whole_from(++now_);
  EXPECT_TRUE(facts_.index().unfinished().empty());
  EXPECT_TRUE(facts_.index().different().empty());
  expect_index();
}

// The operation had been forgotten, and another rank made it anew: a process that is unknown was
// looked up.
TEST_F(JobFactsTest, ACallOfAnOperationThatWasForgottenEndsNothing) {
  make(0, kPair, 1, 1);
  facts_.add(0, events::CallEnded{{}, kPair, 1, true}, ++now_);
  for (uint32_t call = 1; call <= 4; ++call) make(1, kCrowd, call, call);
  ASSERT_GT(facts_.operations_dropped(), 0u);
  make(1, kPair, 9, 1);
  run(0, 1);
  run(1, 9);
  const Operation& operation = facts_.operations().at({kPair, 1});
  EXPECT_EQ(operation.ended, kNever);
  EXPECT_EQ(operation.open, 1u);
}

TEST_F(JobFactsTest, OfASentMessageThatDoesNotSayWhenItWasPostedNothingIsKept) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    facts_.add(rank, events::CommunicatorLinked{{}, kPair, 1 - rank, 5}, 0);
    make(rank, kPair, 1, 1);
    events::CallStarted started{{}, kPair, 1};
    started.channels = 2;
    facts_.add(rank, started, ++now_);
  }
  events::MessageCompleted message{{}, 5, 0, 1, 1000, events::Direction::kSent};
  facts_.add(0, message, now_ += 1000);
  EXPECT_TRUE(facts_.operations().at({kPair, 1}).parts[0].departures.empty());
  message.since_posted = nanos(300);
  message.sequence = 2;
  facts_.add(0, message, now_ += 1000);
  const Part& part = facts_.operations().at({kPair, 1}).parts[0];
  ASSERT_EQ(part.departures.size(), 1u);
  EXPECT_EQ(part.departures[0].posted, now_ - 300);
  EXPECT_EQ(part.departures[0].to, 1u);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    facts_.add(rank, events::CallEnded{{}, kPair, 1, true}, ++now_);
  }
  facts_.add(0, message, now_ += 1000);
  EXPECT_TRUE(facts_.operations().at({kPair, 1}).parts[0].departures.empty()) << "it is over";
}

TEST_F(JobFactsTest, ConnectionsWithAFailedPathOrADeadPeerAreTheTroubledOnes) {
  for (uint32_t connection = 5; connection < 9; ++connection) {
    facts_.add(0, events::CommunicatorLinked{{}, kPair, 1, connection}, 0);
    events::BurstLost lost{};
    lost.connection = connection;
    lost.segments = 1;
    facts_.add(0, lost, ++now_);
  }
  EXPECT_TRUE(facts_.troubled().empty()) << "losses are none";
  facts_.add(0, events::Recovery{{}, 6, 3, events::RecoveryStep::kPathSetAside}, ++now_);
  facts_.add(0, events::Recovery{{}, 6, 3, events::RecoveryStep::kPathReturned}, ++now_);
  facts_.add(1, events::ConnectionClosed{{}, 7, events::CloseCause::kPeerDead}, ++now_);
  facts_.add(1, events::Recovery{{}, 8, 0, events::RecoveryStep::kPeerDeclaredDead}, ++now_);
  const std::set<std::pair<uint32_t, uint32_t>> expected = {{0, 6}, {1, 7}, {1, 8}};
  EXPECT_EQ(facts_.troubled(), expected);
  EXPECT_EQ(facts_.connection(0, 6).paths.ended().size(), 1u);
}

}  // namespace
}  // namespace heddle::insight
