// Lifetimes and bounds: late, missing and repeated ends, communicators that come and go, events of
// other processes, exhausted pools, and many threads at once.
#include <atomic>
#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "plugins/nccl/profiler/net_events.h"
#include "plugins/nccl/profiler/process_profiler.h"
#include "plugins/nccl/profiler/tables.h"
#include "plugins/nccl/profiler/testing/fake_nccl.h"
#include "plugins/nccl/profiler/testing/profiled.h"

namespace heddle::nccl {
namespace {

using V7 = FakeNccl<profiler_v7::Profiler, profiler_v7::Descriptor, profiler_v7::StateArguments>;
using V6 = FakeNccl<profiler_v6::Profiler, profiler_v6::Descriptor, profiler_v6::StateArguments>;

constexpr uint64_t kWorld = 0xabcd;

class Lifetimes : public Profiled {
 protected:
  static V7 begin(uint64_t hash = kWorld, int rank = 0) { return {kProfilerV7, rank, 4, hash}; }
};

TEST_F(Lifetimes, AStepThatEndsAfterItsOpIsRecordedWithIt) {
  auto nccl = begin();
  void* const op = nccl.start_op(nccl.enqueue({}), 1, true);
  void* const step = nccl.start_step(op, 0);
  nccl.step_state(step, profiler::kStepSendWait, 600);
  nccl.stop(op);
  nccl.stop(step);
  nccl.step_state(step, profiler::kStepSendWait, 700);
  nccl.finalize();
  const auto ops = all<events::ProxyOp>();
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].steps, 1u);
  EXPECT_EQ(ops[0].bytes, 600u);
}

// NCCL reports the size of its op's latest transfer with every state of every step.
TEST_F(Lifetimes, AStepsSizeIsThatOfItsNetworkState) {
  profile("all");
  auto nccl = begin();
  void* const sends = nccl.start_op(nullptr, 1, true);
  void* const empty = nccl.start_step(sends, 1);
  nccl.step_state(empty, profiler::kStepSendGpuWait, 500);
  nccl.step_state(empty, profiler::kStepSendPeerWait, 500);
  nccl.step_state(empty, profiler::kStepSendWait, 0);
  nccl.stop(empty);
  nccl.stop(sends);
  void* const receives = nccl.start_op(nullptr, 1, false);
  void* const step = nccl.start_step(receives, 0);
  nccl.step_state(step, profiler::kStepRecvWait, 0);
  nccl.step_state(step, profiler::kStepRecvFlushWait, 300);
  nccl.step_state(step, profiler::kStepRecvGpuWait, 400);
  nccl.stop(step);
  nccl.stop(receives);
  nccl.finalize();
  const auto steps = all<events::ProxyStep>();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].bytes, 0u);
  EXPECT_EQ(steps[1].bytes, 300u);
}

TEST_F(Lifetimes, RepeatedEndsAndEndsAfterFinalizeChangeNothing) {
  auto nccl = begin();
  void* const call = nccl.enqueue({});
  void* const kernel = nccl.start_kernel(call);
  void* const op = nccl.start_op(call, 1, true);
  nccl.stop(op);
  nccl.stop(op);
  nccl.stop_kernel(kernel);
  nccl.stop_kernel(kernel);
  nccl.stop(call);
  nccl.finalize();
  nccl.stop(call);
  nccl.stop(op);
  nccl.stop_kernel(kernel);
  EXPECT_EQ(all<events::CallEnded>().size(), 1u);
  EXPECT_EQ(all<events::ProxyOp>().size(), 1u);
}

TEST_F(Lifetimes, WhatNcclNeverEndsIsCountedWhenItsCommunicatorEnds) {
  auto nccl = begin();
  void* const call = nccl.enqueue({});
  nccl.start_op(call, 1, true);
  nccl.enqueue({});  // no part of it is ever reported: it ended when it was enqueued
  nccl.finalize();
  const auto dropped = all<events::ProfileDropped>();
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].unended, 2u);
  EXPECT_EQ(dropped[0].calls, 0u);
  EXPECT_EQ(all<events::CallEnded>().size(), 1u);
  EXPECT_EQ(all<events::ProxyOp>().size(), 0u);
}

TEST_F(Lifetimes, ACallWaitsForTheKernelsOfAllItsChannels) {
  auto nccl = begin();
  FakeCall wide;
  wide.channels = 2;
  void* const call = nccl.enqueue(wide);
  void* const first = nccl.start_kernel(call, 0);
  nccl.stop_kernel(first);
  void* const op = nccl.start_op(call, 1, true);
  nccl.stop(op);
  EXPECT_TRUE(all<events::CallEnded>().empty());
  nccl.stop_kernel(nccl.start_kernel(call, 1));
  EXPECT_EQ(all<events::CallEnded>().size(), 1u);
  nccl.finalize();
}

TEST_F(Lifetimes, ACopyEngineCallEndsOnTheHost) {
  V6 nccl(kProfilerV6, 0, 4, kWorld);
  profiler_v6::Descriptor descriptor{};
  nccl.set(descriptor, profiler::kCeColl, nullptr);
  descriptor.ce_coll.function = "AllGather";
  descriptor.ce_coll.data_type = "ncclInt8";
  descriptor.ce_coll.count = 64;
  void* const call = nccl.start(descriptor);
  nccl.stop(call);
  nccl.finalize();
  const auto started = all<events::CallStarted>();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].operation, events::Operation::kAllgather);
  EXPECT_EQ(started[0].algorithm, events::Algorithm::kCopyEngine);
  EXPECT_EQ(all<events::CallEnded>().size(), 1u);
  EXPECT_TRUE(all<events::ProfileDropped>().empty());
}

TEST_F(Lifetimes, CommunicatorsOfAProcessShareItsRecordingAndMayHaveTheSameNumber) {
  auto first = begin(kWorld, 0);
  auto second = begin(kWorld, 1);  // two GPUs of one process
  auto other = begin(77, 0);
  EXPECT_NE(first.context(), second.context());
  first.stop_kernel(first.start_kernel(first.enqueue({})));
  second.stop_kernel(second.start_kernel(second.enqueue({})));
  other.stop_kernel(other.start_kernel(other.enqueue({})));
  first.finalize();
  second.finalize();
  other.finalize();
  EXPECT_EQ(files(), 1u);
  std::set<uint32_t> numbers;
  for (const auto& call : all<events::CallMade>()) numbers.insert(call.call);
  EXPECT_EQ(numbers.size(), 3u);  // distinct in the process
  EXPECT_EQ(all<events::CallEnded>().size(), 3u);
}

TEST_F(Lifetimes, AProcessMayProfileAgainAfterItsLastCommunicatorEnded) {
  for (int round = 0; round < 3; ++round) {
    auto nccl = begin();
    nccl.stop_kernel(nccl.start_kernel(nccl.enqueue({})));
    nccl.finalize();
  }
  EXPECT_EQ(all<events::CallEnded>().size(), 3u);
}

TEST_F(Lifetimes, FinalizeWithoutInitIsHarmless) {
  EXPECT_EQ(kProfilerV7.finalize(nullptr), kSuccess);
  EXPECT_EQ(kProfilerV7.finalize(reinterpret_cast<void*>(uint64_t{0x7f0012345678})), kSuccess);
  EXPECT_EQ(kProfilerV7.stop_event(nullptr), kSuccess);
  EXPECT_EQ(kProfilerV7.record_event_state(nullptr, profiler::kCtrlIdle, nullptr), kSuccess);
}

TEST_F(Lifetimes, ARecordingThatCannotBeMadeLeavesTheJobAlone) {
  setenv("HEDDLE_RECORD", "/proc/no/such/folder", 1);
  auto nccl = begin();
  EXPECT_EQ(nccl.mask(), 0);
  EXPECT_EQ(nccl.context(), nullptr);
}

// NCCL's PXN: the proxy of this process sends for another rank of its host. Call and context come
// from that process and mean nothing here; the communicator is recognized by its number.
TEST_F(Lifetimes, AnOpOfAnotherProcessIsRecordedUnderItsRankWithoutACall) {
  auto nccl = begin(kWorld, 1);
  const uint64_t elsewhere = (kWorld << 12) | 500;  // there it has another place
  profiler_v7::Descriptor descriptor{};
  nccl.set(descriptor, profiler::kProxyOp, nccl.enqueue({}));
  descriptor.rank = 3;
  descriptor.proxy_op = {getpid() + 1, 0, 2, 1, 1 << 20, 1};
  void* op = nullptr;
  EXPECT_EQ(kProfilerV7.start_event(reinterpret_cast<void*>(elsewhere), &op, &descriptor),
            kSuccess);
  ASSERT_NE(op, nullptr);
  nccl.set(descriptor, profiler::kProxyStep, op);
  descriptor.proxy_step.step = 0;
  void* step = nullptr;
  EXPECT_EQ(kProfilerV7.start_event(reinterpret_cast<void*>(elsewhere), &step, &descriptor),
            kSuccess);
  nccl.step_state(step, profiler::kStepSendWait, 800);
  nccl.stop(step);
  nccl.stop(op);
  nccl.finalize();
  const auto ops = all<events::ProxyOp>();
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].communicator, kWorld);
  EXPECT_EQ(ops[0].rank, 3u);
  EXPECT_EQ(ops[0].call, 0u);
  EXPECT_EQ(ops[0].bytes, 800u);
}

TEST_F(Lifetimes, AnOpOfAnUnknownCommunicatorHasNoHandle) {
  auto nccl = begin();
  profiler_v7::Descriptor descriptor{};
  nccl.set(descriptor, profiler::kProxyOp, nullptr);
  void* op = &descriptor;
  kProfilerV7.start_event(reinterpret_cast<void*>(uint64_t{0x9999} << 12 | 1), &op, &descriptor);
  EXPECT_EQ(op, nullptr);
  nccl.finalize();
}

TEST_F(Lifetimes, AnExhaustedPoolCountsAndGoesOnWhenObjectsAreFree) {
  auto nccl = begin();
  void* const call = nccl.enqueue({});
  const PoolSizes sizes;
  std::vector<void*> ops;
  for (uint32_t i = 0; i < sizes.ops + 7; ++i) ops.push_back(nccl.start_op(call, 1, true));
  EXPECT_EQ(ops.back(), nullptr);
  EXPECT_EQ(nccl.start_step(ops.back(), 0), nullptr);
  for (void* const op : ops) nccl.stop(op);
  EXPECT_NE(nccl.start_op(call, 1, true), nullptr);
  nccl.finalize();
  const auto dropped = all<events::ProfileDropped>();
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].proxy_ops, 7u);
  EXPECT_EQ(dropped[0].steps, 1u);
}

// Calls within a node of which NCCL reports nothing more (no kernels, no proxy) make room for
// others.
TEST_F(Lifetimes, CallsWithoutPartsAreReusedOldestFirst) {
  auto nccl = begin();
  const PoolSizes sizes;
  FakeCall call;
  for (uint32_t i = 0; i < 2 * sizes.calls; ++i) EXPECT_NE(nccl.enqueue(call), nullptr);
  nccl.finalize();
  EXPECT_TRUE(all<events::ProfileDropped>().empty());
  EXPECT_EQ(all<events::CallEnded>().size(), 2 * sizes.calls);
}

TEST_F(Lifetimes, TransfersOfTheNetPluginAreDecoded) {
  profile("all");
  auto nccl = begin();
  void* const call = nccl.enqueue({});
  void* const op = nccl.start_op(call, 2, true, 1);
  void* const step = nccl.start_step(op, 0);
  NetTransfer transfer{.connection = 9, .bytes = 5000};
  profiler_v7::Descriptor descriptor{};
  nccl.set(descriptor, profiler::kNetPlugin, step);
  descriptor.net_plugin = {kNetEventsId, &transfer};
  void* const event = nccl.start(descriptor);
  ASSERT_NE(event, nullptr);
  transfer = {
      .connection = 9, .path = 3, .bytes = 5000, .retransmitted_bytes = 1400, .delay_ns = 42'000};
  profiler_v7::StateArguments arguments{};
  arguments.net_data = &transfer;
  kProfilerV7.record_event_state(event, profiler::kNetPluginUpdate, &arguments);
  nccl.stop(event);
  descriptor.net_plugin.id = int64_t{1} << 16 | 1;  // of NCCL's InfiniBand
  EXPECT_EQ(nccl.start(descriptor), nullptr);
  nccl.stop(step);
  nccl.stop(op);
  nccl.finalize();
  const auto transfers = all<events::NetTransfer>();
  ASSERT_EQ(transfers.size(), 1u);
  EXPECT_EQ(transfers[0].connection, 9u);
  EXPECT_EQ(transfers[0].peer, 2u);
  EXPECT_EQ(transfers[0].channel, 1u);
  EXPECT_EQ(transfers[0].path, 3u);
  EXPECT_EQ(transfers[0].retransmitted_bytes, 1400u);
  EXPECT_EQ(transfers[0].delay, micros(42));
  const auto ops = all<events::ProxyOp>();
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].retransmitted_bytes, 1400u);
}

TEST_F(Lifetimes, TagsPhasesAndHostWorkOfVersion7) {
  profile("all");
  auto nccl = begin();
  FakeCall call;
  call.user_tag = 31;
  void* const event = nccl.enqueue(call);
  void* const kernel = nccl.start_kernel(event, 4);
  profiler_v7::Descriptor descriptor{};
  nccl.set(descriptor, profiler::kKernelPhase, kernel);
  descriptor.kernel_phase = {4, 1, "compute", 1500};
  void* const phase = nccl.start(descriptor);
  profiler_v7::StateArguments arguments{};
  arguments.stop_timer_ns = 1900;
  kProfilerV7.record_event_state(phase, profiler::kKernelPhaseStop, &arguments);
  nccl.stop(phase);
  nccl.stop_kernel(kernel);
  nccl.stop(nccl.start(profiler::kKernelLaunch, nullptr));
  nccl.finalize();
  const auto tags = all<events::CallTagged>();
  ASSERT_EQ(tags.size(), 1u);
  EXPECT_EQ(tags[0].tag, 31u);
  EXPECT_EQ(tags[0].call, all<events::CallMade>()[0].call);
  const auto phases = all<events::KernelPhase>();
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].phase, events::KernelStage::kCompute);
  EXPECT_EQ(phases[0].gpu_took, nanos(400));
  EXPECT_EQ(phases[0].call, tags[0].call);
  const auto work = all<events::HostWork>();
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].task, events::HostTask::kPlan);
  EXPECT_EQ(work[1].task, events::HostTask::kKernelLaunch);
}

// A user's thread and a proxy's for each of several communicators, which end at different times.
TEST_F(Lifetimes, ThreadsOfManyCommunicatorsLoseNothing) {
  constexpr int kCommunicators = 4;
  constexpr int kCalls = 300;
  profile("all");
  std::vector<std::thread> threads;
  for (int i = 0; i < kCommunicators; ++i) {
    threads.emplace_back([i] {
      auto nccl = begin(kWorld + static_cast<uint64_t>(i));
      std::atomic<void*> handed{nullptr};
      std::thread proxy([&] {
        for (int done = 0; done < kCalls;) {
          void* const call = handed.exchange(nullptr, std::memory_order_acquire);
          if (call == nullptr) {
            std::this_thread::yield();
            continue;
          }
          void* const kernel = nccl.start_kernel(call);
          nccl.exchange(call, 1, 2, 100);
          nccl.stop_kernel(kernel);
          ++done;
        }
      });
      for (int call = 0; call < kCalls; ++call) {
        void* const event = nccl.start_call({});
        handed.store(event, std::memory_order_release);  // the proxy may end it before NCCL does
        nccl.stop(event);
        while (handed.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
      }
      proxy.join();
      nccl.finalize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t lost = 0;
  for (const auto& dropped : all<events::ProfileDropped>()) {
    EXPECT_EQ(dropped.unended, 0u);
    lost += dropped.writes;
  }
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(all<events::CallMade>().size(), size_t{kCommunicators * kCalls});
  EXPECT_EQ(all<events::CallEnded>().size(), size_t{kCommunicators * kCalls});
  EXPECT_EQ(all<events::ProxyOp>().size(), size_t{2 * kCommunicators * kCalls});
  EXPECT_EQ(all<events::ProxyStep>().size(), size_t{4 * kCommunicators * kCalls});
}

}  // namespace
}  // namespace heddle::nccl
