// What insight makes of a recording of NCCL's profiler: traffic, waits and moments, from synthetic
// events.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "insight/matrix.h"
#include "insight/summary.h"
#include "insight/timeline.h"
#include "insight/traffic.h"

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::CallEnded;
using events::CallMade;
using events::CallStarted;
using events::CommunicatorMade;
using events::ConnectionOpened;
using events::Direction;
using events::ElementType;
using events::MessageCompleted;
using events::Operation;
using events::Protocol;
using events::ProxyOp;

constexpr uint64_t kWorld = 0xbeef;

class ProxyTest : public ::testing::Test {
 protected:
  void add_process(uint32_t rank) {
    const Identity identity = {{"host", "h" + std::to_string(rank)},
                               {"rank", std::to_string(rank)}};
    traffic_.add_process(identity);
    summary_.add_process(identity);
    add(rank, CommunicatorMade{{}, kWorld, rank, 4});
  }
  template <typename Event>
  void add(uint32_t process, Event event) {
    event.time = now_ += micros(1);
    traffic_.add(process, event);
    summary_.add(process, event);
  }
  void call(uint32_t process, uint32_t number, uint64_t count) {
    add(process,
        CallMade{{}, kWorld, number, 7, Operation::kAllreduce, ElementType::kFloat, count, 0, 0});
    add(process, CallStarted{{},
                             kWorld,
                             number,
                             Operation::kAllreduce,
                             Algorithm::kRing,
                             0,
                             2,
                             0,
                             0,
                             Protocol::kSimple});
  }
  void proxy(uint32_t process, uint32_t call, uint32_t peer, Direction direction, uint64_t bytes) {
    add(process, ProxyOp{{},
                         kWorld,
                         call,
                         process,
                         peer,
                         0,
                         direction,
                         2,
                         bytes,
                         100,
                         micros(50),
                         micros(20),
                         micros(10),
                         micros(5)});
  }

  Nanos now_;
  TrafficBuilder traffic_;
  SummaryBuilder summary_;
};

TEST_F(ProxyTest, DeliveredBytesAreTheReceiversWhereItWasRecordedElseTheSenders) {
  add_process(0);
  add_process(1);
  call(0, 1, 1000);
  call(1, 1, 1000);
  proxy(0, 1, 1, Direction::kSent, 4000);  // to 1, which reports it itself
  proxy(1, 1, 0, Direction::kReceived, 4000);
  proxy(1, 1, 2, Direction::kSent, 6000);  // to 2, which was not recorded
  const Traffic traffic = traffic_.finish();
  const Matrix matrix = make_matrix(traffic, MatrixRows::kRank);
  ASSERT_EQ(matrix.parties.size(), 3u);
  EXPECT_EQ(matrix.at(0, 1).bytes, 4000u);
  EXPECT_EQ(matrix.at(0, 1).messages, 2u);
  EXPECT_EQ(matrix.at(0, 1).nanos, 50'000u);
  EXPECT_EQ(matrix.at(1, 2).bytes, 6000u);
  EXPECT_EQ(matrix.total().bytes, 10'000u);
  EXPECT_TRUE(matrix.has_messages);
}

TEST_F(ProxyTest, TrafficBelongsToItsCallsOperationAndAlgorithmAlsoAfterTheCallsEnd) {
  add_process(0);
  call(0, 1, 1000);
  add(0, CallEnded{{}, kWorld, 1, true});
  proxy(0, 1, 1, Direction::kReceived, 4000);
  proxy(0, 0, 1, Direction::kReceived, 500);  // of a call that is not known
  const Traffic traffic = traffic_.finish();
  const auto parts = matrix_parts(traffic, MatrixRows::kRank, MatrixParts::kOperation);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "allreduce");
  EXPECT_EQ(parts[0].matrix.total().bytes, 4000u);
  EXPECT_EQ(parts[1].matrix.total().bytes, 500u);
  EXPECT_EQ(matrix_parts(traffic, MatrixRows::kRank, MatrixParts::kAlgorithm)[0].name, "ring");
}

TEST_F(ProxyTest, NoFormulaIsHeldAgainstNcclsCalls) {
  add_process(0);
  call(0, 1, 1000);
  proxy(0, 1, 1, Direction::kReceived, 4000);
  const Traffic traffic = traffic_.finish();
  EXPECT_EQ(make_matrix(traffic, MatrixRows::kRank).total().expected_bytes, 0u);
  EXPECT_EQ(traffic.calls_without_formula, 1u);
}

// NCCL over heddle: the transport records the same bytes as messages of its connections.
TEST_F(ProxyTest, MessagesOfTheTransportBelowAreNotCountedOnceMore) {
  add_process(0);
  add(0, ConnectionOpened{{}, 10, 11, 0, 0xffff0a000002, 18700, 8});
  add(0, MessageCompleted{{}, 10, 1, 1, 4000, Direction::kReceived});
  proxy(0, 0, 1, Direction::kReceived, 4000);
  EXPECT_EQ(make_matrix(traffic_.finish(), MatrixRows::kRank).total().bytes, 4000u);
}

TEST_F(ProxyTest, SeveralRanksOfAProcessAreAllFoundThere) {
  add_process(0);
  add(0, CommunicatorMade{{}, kWorld, 3, 4});
  proxy(0, 0, 1, Direction::kReceived, 100);
  add(0, ProxyOp{{}, kWorld, 0, 3, 1, 0, Direction::kReceived, 1, 200, 0, {}, {}, {}, {}});
  const Matrix matrix = make_matrix(traffic_.finish(), MatrixRows::kRank);
  ASSERT_EQ(matrix.parties.size(), 2u);
  EXPECT_EQ(matrix.at(1, 0).bytes, 300u);
}

TEST_F(ProxyTest, SummaryAddsWhatTransfersWaitedFor) {
  add_process(0);
  proxy(0, 0, 1, Direction::kSent, 4000);
  proxy(0, 0, 1, Direction::kSent, 4000);
  proxy(0, 0, 1, Direction::kReceived, 1000);
  add(0, events::ProfileDropped{{}, kWorld, 1, 2, 3, 4, 5, 99});
  const Summary summary = summary_.finish();
  const auto& [sent, received] = summary.processes[0].proxy;
  EXPECT_EQ(sent.operations, 2u);
  EXPECT_EQ(sent.transfers, 4u);
  EXPECT_EQ(sent.bytes, 8000u);
  EXPECT_EQ(sent.retransmitted_bytes, 200u);
  EXPECT_EQ(sent.gpu_wait, micros(40));
  EXPECT_EQ(sent.peer_wait, micros(20));
  EXPECT_EQ(sent.network_wait, micros(10));
  EXPECT_EQ(received.operations, 1u);
  EXPECT_EQ(summary.processes[0].profile_dropped, 15u);
  const auto findings = findings_of(summary, traffic_.finish());
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].what, "15 of NCCL's events of rank 0 on h0 were not recorded");
}

TEST(ProxyTimeline, TransfersBeginBeforeTheirEventAndSayWhatTheyWaitedFor) {
  std::vector<Moment> moments;
  TimelineBuilder builder([&moments](const Moment& moment) { moments.push_back(moment); });
  builder.add_process([](int64_t at) { return at; });
  builder.add(0, ProxyOp{micros(100), kWorld, 1, 0, 3, 2, Direction::kSent, 4, 900, 0, micros(60),
                         micros(20), micros(10), micros(5)});
  builder.add(
      0, events::HostWork{micros(110), kWorld, events::HostTask::kKernelLaunch, 0, micros(10)});
  builder.finish();
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_EQ(moments[0].kind, MomentKind::kTransfer);
  EXPECT_EQ(moments[0].name, "4 transfers to 3, channel 2");
  EXPECT_EQ(moments[0].detail, "GPU 20.0 us, peer 10.0 us, network 5.0 us");
  EXPECT_EQ(moments[0].begin_ns, 40'000);
  EXPECT_EQ(moments[0].end_ns, 100'000);
  EXPECT_EQ(moments[1].name, "kernel_launch");
  EXPECT_EQ(moments[1].begin_ns, 100'000);
}

}  // namespace
}  // namespace heddle::insight
