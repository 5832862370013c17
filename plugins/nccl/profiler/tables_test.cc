// Every version's table, driven as NCCL drives it, and what `heddle matrix`, `summary` and
// `timeline` show of the recording.
#include "plugins/nccl/profiler/tables.h"

#include <map>
#include <string>

#include "plugins/nccl/profiler/testing/fake_nccl.h"
#include "plugins/nccl/profiler/testing/profiled.h"

namespace heddle::nccl {
namespace {

using events::Algorithm;
using events::Direction;
using events::Operation;
using events::Protocol;

constexpr uint64_t kWorld = 0x1234'5678'9abc'def0;

template <int kNumber, typename TableType, typename DescriptorType, typename ArgumentsType,
          const TableType& kTableObject>
struct Version {
  static constexpr int kVersion = kNumber;
  using Nccl = FakeNccl<TableType, DescriptorType, ArgumentsType>;
  static Nccl make(int rank, int ranks = 2) { return Nccl(kTableObject, rank, ranks, kWorld); }
};

template <typename V>
class EveryVersion : public Profiled {};

using Versions = ::testing::Types<Version<1, profiler_v1::Profiler, profiler_v1::Descriptor,
                                          profiler_v1::StateArguments, kProfilerV1>,
                                  Version<2, profiler_v2::Profiler, profiler_v2::Descriptor,
                                          profiler_v2::StateArguments, kProfilerV2>,
                                  Version<3, profiler_v3::Profiler, profiler_v3::Descriptor,
                                          profiler_v3::StateArguments, kProfilerV3>,
                                  Version<4, profiler_v4::Profiler, profiler_v4::Descriptor,
                                          profiler_v4::StateArguments, kProfilerV4>,
                                  Version<5, profiler_v5::Profiler, profiler_v5::Descriptor,
                                          profiler_v5::StateArguments, kProfilerV5>,
                                  Version<6, profiler_v6::Profiler, profiler_v6::Descriptor,
                                          profiler_v6::StateArguments, kProfilerV6>,
                                  Version<7, profiler_v7::Profiler, profiler_v7::Descriptor,
                                          profiler_v7::StateArguments, kProfilerV7>>;
TYPED_TEST_SUITE(EveryVersion, Versions);

// One all-reduce of two ranks by a ring, each rank a process of its own.
template <typename V>
void all_reduce(int rank) {
  auto nccl = V::make(rank);
  void* const call = nccl.enqueue({});
  ASSERT_NE(call, nullptr);
  void* const kernel = nccl.start_kernel(call);
  nccl.exchange(call, 1 - rank, 2, 2000);
  nccl.stop_kernel(kernel);
  nccl.finalize();
}

TYPED_TEST(EveryVersion, WithoutHeddleRecordNothingIsActivated) {
  unsetenv("HEDDLE_RECORD");
  auto nccl = TypeParam::make(0);
  EXPECT_EQ(nccl.mask(), 0);
  EXPECT_EQ(nccl.context(), nullptr);
  // NCCL's RAS client may activate events nevertheless.
  EXPECT_EQ(nccl.start(profiler::kGroup, nullptr), nullptr);
  nccl.finalize();
  EXPECT_EQ(this->files(), 0u);
}

TYPED_TEST(EveryVersion, ACollectiveIsRecordedWithItsFacts) {
  this->profile("proxy");
  all_reduce<TypeParam>(0);
  const auto made = this->template all<events::CallMade>();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].communicator, kWorld);
  EXPECT_EQ(made[0].number, 5u);
  EXPECT_EQ(made[0].operation, Operation::kAllreduce);
  EXPECT_EQ(made[0].type, events::ElementType::kFloat);
  EXPECT_EQ(made[0].count, 1000u);
  const auto started = this->template all<events::CallStarted>();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].call, made[0].call);
  EXPECT_EQ(started[0].algorithm, Algorithm::kRing);
  EXPECT_EQ(started[0].protocol, Protocol::kSimple);
  EXPECT_EQ(started[0].channels, 1u);
  const auto communicators = this->template all<events::CommunicatorMade>();
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].rank, 0u);
  EXPECT_EQ(communicators[0].size, TypeParam::kVersion >= 4 ? 2u : 0u);  // 1 to 3 have no size
  EXPECT_EQ(this->template all<events::CommunicatorEnded>().size(), 1u);
  EXPECT_TRUE(this->template all<events::ProfileDropped>().empty());
}

// The order of the recording shows when a call ended: NCCL's own end of it comes before any part.
TYPED_TEST(EveryVersion, ACallEndsWithItsLastPart) {
  this->profile("proxy");
  all_reduce<TypeParam>(0);
  size_t ops = 0;
  size_t ended = 0;
  for (const events::AnyEvent& event : this->all_events()) {
    if (std::holds_alternative<events::ProxyOp>(event)) ++ops;
    if (!std::holds_alternative<events::CallEnded>(event)) continue;
    ++ended;
    EXPECT_EQ(ops, 2u);
  }
  EXPECT_EQ(ended, 1u);
  EXPECT_EQ(ops, 2u);
}

TYPED_TEST(EveryVersion, TheMatrixShowsWhatTheProxiesMoved) {
  for (const int rank : {0, 1}) {
    this->be_rank(rank);
    all_reduce<TypeParam>(rank);
  }
  const insight::Traffic traffic = this->traffic();
  const auto matrix = insight::make_matrix(traffic, insight::MatrixRows::kRank);
  ASSERT_EQ(matrix.parties.size(), 2u);
  EXPECT_EQ(matrix.at(0, 1).bytes, 4000u);
  EXPECT_EQ(matrix.at(1, 0).bytes, 4000u);
  EXPECT_EQ(matrix.at(0, 1).messages, 2u);
  EXPECT_EQ(matrix.total().expected_bytes, 0u);
  EXPECT_EQ(matrix.unplaced.messages, 0u);
  const auto parts =
      insight::matrix_parts(traffic, insight::MatrixRows::kRank, insight::MatrixParts::kOperation);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "allreduce");
  EXPECT_EQ(parts[0].matrix.total().bytes, 8000u);
}

TYPED_TEST(EveryVersion, SummaryAndTimelineShowCallsAndTransfers) {
  all_reduce<TypeParam>(0);
  const insight::Summary summary = this->summary();
  ASSERT_EQ(summary.processes.size(), 1u);
  EXPECT_EQ(summary.processes[0].calls, 1u);
  EXPECT_EQ(summary.processes[0].calls_failed, 0u);
  const insight::OperationSummary& operation = summary.operations.at(Operation::kAllreduce);
  EXPECT_EQ(operation.calls, 1u);
  EXPECT_EQ(operation.bytes, 4000u);
  const auto& [sent, received] = summary.processes[0].proxy;
  EXPECT_EQ(sent.transfers, 2u);
  EXPECT_EQ(sent.bytes, 4000u);
  EXPECT_EQ(received.transfers, 2u);
  std::map<insight::MomentKind, int> kinds;
  for (const insight::Moment& moment : this->timeline()) {
    EXPECT_TRUE(moment.ended);
    ++kinds[moment.kind];
  }
  EXPECT_EQ(kinds[insight::MomentKind::kCall], 1);
  EXPECT_EQ(kinds[insight::MomentKind::kTransfer], 2);
}

TYPED_TEST(EveryVersion, SendsAndReceivesHaveTheirPeer) {
  auto nccl = TypeParam::make(0);
  FakeCall call;
  call.function = "Send";
  call.function_number = 6;
  call.root = 1;
  nccl.send(nccl.start_op(nccl.enqueue(call), 1, true), 1, 500);
  nccl.send(nccl.start_op(nccl.enqueue(call), 1, true), 1, 500);
  call.function = "Recv";
  call.function_number = 7;
  nccl.receive(nccl.start_op(nccl.enqueue(call), 1, false), 1, 700);
  nccl.finalize();
  const auto made = this->template all<events::CallMade>();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].operation, Operation::kSend);
  EXPECT_EQ(made[0].root, 1u);
  EXPECT_EQ(made[0].number, 0u);
  EXPECT_EQ(made[1].number, TypeParam::kVersion >= 4 ? 1u : 0u);
  EXPECT_EQ(made[2].operation, Operation::kRecv);
  EXPECT_EQ(made[2].number, 0u);
  const auto ops = this->template all<events::ProxyOp>();
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].peer, 1u);
  EXPECT_EQ(ops[0].direction, Direction::kSent);
  EXPECT_EQ(ops[2].direction, Direction::kReceived);
  EXPECT_EQ(ops[2].bytes, 700u);
}

TYPED_TEST(EveryVersion, EveryLevelRecordsWhatItNames) {
  for (const char* level : {"calls", "proxy", "all"}) {
    this->profile(level);
    all_reduce<TypeParam>(0);
  }
  EXPECT_EQ(this->template all<events::CallEnded>().size(), 3u);
  EXPECT_EQ(this->template all<events::ProxyOp>().size(), 4u);  // not at calls
  const bool sizes = TypeParam::kVersion >= 4;
  const auto steps = this->template all<events::ProxyStep>();
  ASSERT_EQ(steps.size(), 4u);  // at all
  EXPECT_EQ(steps[0].bytes, sizes ? 2000u : 0u);
  EXPECT_EQ(steps[1].step, 1u);
  const auto kernels = this->template all<events::KernelChannel>();
  ASSERT_EQ(kernels.size(), TypeParam::kVersion >= 3 ? 1u : 0u);
  if (sizes) {
    EXPECT_EQ(kernels[0].gpu_began_ns, 1000u);
    EXPECT_EQ(kernels[0].gpu_took, nanos(2000));
  }
}

TYPED_TEST(EveryVersion, AGroupHasAHandleAtEveryLevel) {
  for (const char* level : {"calls", "proxy", "all"}) {
    this->profile(level);
    auto nccl = TypeParam::make(0);
    void* const group = nccl.start(profiler::kGroup, nullptr);
    EXPECT_NE(group, nullptr) << level;
    nccl.stop(group);
    nccl.finalize();
  }
}

TYPED_TEST(EveryVersion, UnknownKindsAndStatesAreIgnored) {
  auto nccl = TypeParam::make(0);
  void* const call = nccl.enqueue({});
  nccl.stop(nccl.start(uint64_t{1} << 5, call));
  void* const op = nccl.start_op(call, 1, true);
  nccl.step_state(nccl.start_step(op, 0), static_cast<profiler::State>(77), 99);
  nccl.stop(op);
  nccl.finalize();
  ASSERT_EQ(this->template all<events::ProxyOp>().size(), 1u);
  EXPECT_EQ(this->template all<events::ProxyOp>()[0].bytes, 0u);
}

}  // namespace
}  // namespace heddle::nccl
