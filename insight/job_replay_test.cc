// Recorded jobs as workloads: calls, computation and waits, and what is left out.
#include "insight/job_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/job_text.h"

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::Operation;
using testing::ElementsAre;
using testing::HasSubstr;

// Emits one process's events at given times.
class Recorder {
 public:
  Recorder(JobReplayBuilder& builder, uint32_t rank, uint32_t size) : builder_(builder) {
    process_ = builder.add_process({{"rank", std::to_string(rank)}, {"host", "node"}});
    add(events::CommunicatorMade{.communicator = 7, .rank = rank, .size = size});
  }

  void call(int64_t at_us, uint32_t call, Operation operation, uint64_t count, uint32_t root = 0,
            uint32_t group = 0) {
    add(events::CallMade{.time = micros(at_us),
                         .communicator = 7,
                         .call = call,
                         .number = call - 1,
                         .operation = operation,
                         .type = events::ElementType::kFloat,
                         .count = count,
                         .root = root,
                         .group = group});
    add(events::CallStarted{.time = micros(at_us),
                            .communicator = 7,
                            .call = call,
                            .operation = operation,
                            .algorithm = algorithm_,
                            .chunk_bytes = 65'536,
                            .group_ranks = group_ranks_});
  }
  void ended(int64_t at_us, uint32_t call) {
    add(events::CallEnded{.time = micros(at_us), .communicator = 7, .call = call, .ok = true});
  }
  void wait(int64_t from_us, int64_t to_us, uint32_t call) {
    add(events::WaitBegun{.time = micros(from_us), .communicator = 7, .call = call});
    ended(to_us, call);
    add(events::WaitEnded{.time = micros(to_us), .communicator = 7, .call = call});
  }

  // Of the calls that follow.
  void take(Algorithm algorithm, uint32_t group_ranks) {
    algorithm_ = algorithm;
    group_ranks_ = group_ranks;
  }

 private:
  void add(const events::AnyEvent& event) { builder_.add(process_, event); }

  JobReplayBuilder& builder_;
  uint32_t process_;
  Algorithm algorithm_ = Algorithm::kRing;
  uint32_t group_ranks_ = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = text.find("  \""); at != std::string::npos; at = text.find("  \"", at + 1)) {
    lines.push_back(text.substr(at + 3, text.find('"', at + 3) - at - 3));
  }
  return lines;
}

TEST(JobReplay, CallsComputationAndWaitsMatchTheRecording) {
  JobReplayBuilder builder;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Recorder recorder(builder, rank, 2);
    recorder.call(1'000, 1, Operation::kAllreduce, 1'000);  // runs in the background
    recorder.call(1'500, 2, Operation::kAllgather, 250);    // waited for immediately
    recorder.wait(1'501, 1'900, 2);
    recorder.wait(2'400, 2'600, 1);
    recorder.call(2'700, 3, Operation::kBarrier, 0);
    recorder.wait(2'700, 2'800, 3);
  }
  const Result<JobReplay> replay = builder.finish();
  ASSERT_TRUE(replay) << replay.error().message();
  EXPECT_TRUE(replay->notes.empty());
  EXPECT_EQ(replay->job.chunk, Bytes{65'536});
  ASSERT_EQ(replay->job.programs.size(), 1u) << "both did the same";
  EXPECT_THAT(lines_of(topology::job_text(replay->job)),
              ElementsAre("all_reduce comm0 1000x4 ring as c0", "compute 500000ns",
                          "all_gather comm0 500x4 ring", "compute 501000ns", "wait c0",
                          "compute 100000ns", "barrier comm0"));
}

// NCCL's NVLS has the number that two levels have among heddle's own algorithms.
TEST(JobReplay, TwoLevelsKeepTheirGroupsAndNcclsAlgorithmsAreLeftOpen) {
  JobReplayBuilder builder;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    Recorder recorder(builder, rank, 4);
    recorder.take(Algorithm::kTwoLevel, 2);
    recorder.call(100, 1, Operation::kAllreduce, 10);
    recorder.take(Algorithm::kTwoLevel, 4);  // all in one group
    recorder.call(100, 2, Operation::kAllreduce, 10);
    recorder.take(Algorithm::kNvls, 0);
    recorder.call(100, 3, Operation::kAllreduce, 10);
  }
  const Result<JobReplay> replay = builder.finish();
  ASSERT_TRUE(replay) << replay.error().message();
  const std::vector<std::string> lines = lines_of(topology::job_text(replay->job));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("10x4 two_level/2"));
  EXPECT_THAT(lines[1], HasSubstr("10x4 ring"));
  EXPECT_THAT(lines[2], testing::Not(HasSubstr("two_level")));
}

TEST(JobReplay, AWaitForAGroupWaitsForEachOfItsCalls) {
  JobReplayBuilder builder;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Recorder recorder(builder, rank, 2);
    recorder.call(0, 1, rank == 0 ? Operation::kSend : Operation::kRecv, 10, 1 - rank, 9);
    recorder.wait(50, 60, 9);
  }
  const Result<JobReplay> replay = builder.finish();
  ASSERT_TRUE(replay) << replay.error().message();
  EXPECT_THAT(lines_of(topology::job_text(replay->job)),
              ElementsAre("send comm0 10x4 to 1 as c0", "compute 50000ns", "wait c0",
                          "receive comm0 10x4 from 0 as c0", "compute 50000ns", "wait c0"));
}

TEST(JobReplay, CallsThatSomeRanksDidNotRecordAreLeftOut) {
  JobReplayBuilder builder;
  Recorder first(builder, 0, 2);
  Recorder second(builder, 1, 2);
  for (uint32_t call = 1; call <= 5; ++call) {
    if (call <= 4) first.call(call * 100, call, Operation::kAllreduce, call);
    if (call >= 2) second.call(call * 100, call, Operation::kAllreduce, call);
  }
  const Result<JobReplay> replay = builder.finish();
  ASSERT_TRUE(replay) << replay.error().message();
  for (const topology::Program& program : replay->job.programs) {
    std::vector<uint64_t> bytes;
    for (const topology::Action& action : program.actions) {
      if (action.kind == topology::ActionKind::kCall) bytes.push_back(action.bytes);
    }
    EXPECT_THAT(bytes, ElementsAre(8, 12, 16));
  }
  ASSERT_EQ(replay->notes.size(), 1u);
  EXPECT_THAT(replay->notes[0], HasSubstr("2 calls are left out"));
}

TEST(JobReplay, AMissingRankIsAnError) {
  JobReplayBuilder builder;
  Recorder only(builder, 0, 2);
  only.call(0, 1, Operation::kAllreduce, 1);
  EXPECT_THAT(builder.finish().error().message(), HasSubstr("no communicator of two"));
  Recorder other(builder, 1, 3);
  other.call(0, 1, Operation::kAllreduce, 1);
  EXPECT_THAT(builder.finish().error().message(), HasSubstr("rank 2 of a communicator of 3"));
}

TEST(JobReplay, AJobOfOneCommunicatorScalesToAnyNumberOfRanks) {
  JobReplayBuilder builder;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Recorder recorder(builder, rank, 2);
    recorder.call(0, 1, Operation::kAllreduce, 1 + rank);
  }
  const Result<JobReplay> replay = builder.finish();
  ASSERT_TRUE(replay);
  const Result<JobReplay> more = with_ranks(*replay, 5);
  ASSERT_TRUE(more) << more.error().message();
  ASSERT_EQ(more->job.ranks.size(), 5u);
  EXPECT_EQ(more->job.ranks[4].host, 4u);
  EXPECT_EQ(more->job.ranks[4].program, more->job.ranks[0].program);
  EXPECT_EQ(more->job.communicators[0].ranks.size(), 5u);
  EXPECT_FALSE(more->job.programs[0].actions[0].algorithm);
}

}  // namespace
}  // namespace heddle::insight
