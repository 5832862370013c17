// FakeNccl: drives a profiler table as NCCL does, with the orders of calls of its enqueue.cc,
// proxy.cc and transport/net.cc: a call's event ends when it is enqueued, its operations and
// kernels come later.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "nccl/profiler_types.h"

namespace heddle::nccl {

struct FakeCall {
  const char* function = "AllReduce";
  const char* data_type = "ncclFloat32";
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  uint8_t function_number = 4;  // of version 1, as what follows
  uint8_t type_number = 7;
  uint8_t algorithm_number = 1;
  uint8_t protocol_number = 2;
  size_t count = 1000;
  uint64_t sequence = 5;
  int root = 0;  // or the peer
  uint8_t channels = 1;
  uint64_t user_tag = 0;
};

template <typename Table, typename Descriptor, typename Arguments>
class FakeNccl {
 public:
  static constexpr bool kHasKernels = requires(Descriptor d) { d.kernel_channel; };
  static constexpr bool kDescribes = requires(Arguments a) { a.step_bytes; };
  static constexpr bool kHasNet = kDescribes;

  FakeNccl(const Table& table, int rank, int ranks, uint64_t hash)
      : table_(table), rank_(rank), hash_(hash) {
    Status status = kSuccess;
    if constexpr (std::is_invocable_v<decltype(table.init), void**, int*>) {
      status = table_.init(&context_, &mask_);
    } else if constexpr (std::is_invocable_v<decltype(table.init), void**, uint64_t, int*,
                                             const char*, int, int, int, Logger>) {
      status = table_.init(&context_, hash, &mask_, "world", 2, ranks, rank, nullptr);
    } else {
      status = table_.init(&context_, &mask_, "world", hash, 2, ranks, rank, nullptr);
    }
    EXPECT_EQ(status, kSuccess);
  }
  void finalize() {
    if (context_ != nullptr) {
      EXPECT_EQ(table_.finalize(context_), kSuccess);
    }
    context_ = nullptr;
  }

  int mask() const { return mask_; }
  void* context() const { return context_; }
  bool wants(uint64_t kinds) const { return (static_cast<uint64_t>(mask_) & kinds) != 0; }

  // The user's thread: the event of a call, with its group's around it. NCCL up to 2.27 reports
  // calls only where the group has a handle.
  void* enqueue(const FakeCall& call) {
    void* const group = start(profiler::kGroup, nullptr);
    if (group == nullptr) return nullptr;
    void* const event = start_call(call);
    stop(event);
    stop(group);
    return event;
  }
  void* start_call(const FakeCall& call) {
    const bool p2p = std::string(call.function) == "Send" || std::string(call.function) == "Recv";
    if (!wants(p2p ? profiler::kP2p : profiler::kColl)) return nullptr;
    Descriptor descriptor{};
    set(descriptor, p2p ? profiler::kP2p : profiler::kColl, nullptr);
    if (p2p) {
      fill_p2p(descriptor.p2p, call);
    } else {
      fill_coll(descriptor.coll, call);
    }
    return start(descriptor);
  }

  // The proxy's thread.
  void* start_op(void* call, int peer, bool send, uint8_t channel = 0, int pid = getpid()) {
    if (!wants(profiler::kProxyOp | profiler::kProxyStep | profiler::kNetPlugin)) return nullptr;
    Descriptor descriptor{};
    set(descriptor, profiler::kProxyOp, call);
    descriptor.proxy_op = {pid, channel, peer, 2, 1 << 20, send ? 1 : 0};
    return start(descriptor);
  }
  void* start_step(void* op, int step) {
    if (!wants(profiler::kProxyStep | profiler::kNetPlugin)) return nullptr;
    Descriptor descriptor{};
    set(descriptor, profiler::kProxyStep, op);
    descriptor.proxy_step.step = step;
    return start(descriptor);
  }
  void step_state(void* step, profiler::State state, size_t bytes) {
    if (step == nullptr) return;
    if constexpr (kDescribes) {
      Arguments arguments{};
      arguments.step_bytes = bytes;
      EXPECT_EQ(table_.record_event_state(step, state, &arguments), kSuccess);
    } else {
      EXPECT_EQ(table_.record_event_state(step, state, nullptr), kSuccess);
    }
  }
  // Whole operations of `steps` transfers, one after the other. NCCL begins all operations of a
  // call before it moves any, as exchange() does.
  void exchange(void* call, int peer, int steps, size_t bytes) {
    void* const sends = start_op(call, peer, true);
    void* const receives = start_op(call, peer, false);
    send(sends, steps, bytes);
    receive(receives, steps, bytes);
  }
  void send(void* op, int steps, size_t bytes) {
    for (int i = 0; i < steps; ++i) {
      void* const step = start_step(op, i);
      step_state(step, profiler::kStepSendGpuWait, 0);
      if constexpr (kDescribes) {  // at every attempt
        step_state(step, profiler::kStepSendPeerWait, 0);
        step_state(step, profiler::kStepSendPeerWait, 0);
      }
      step_state(step, profiler::kStepSendWait, bytes);
      stop(step);
      progress(op, profiler::kOpSendTransmitted, (i + 1) * bytes, i + 1);
    }
    stop(op);
  }
  void receive(void* op, int steps, size_t bytes) {
    for (int i = 0; i < steps; ++i) {
      void* const step = start_step(op, i);
      step_state(step, profiler::kStepRecvWait, 0);
      step_state(step, profiler::kStepRecvFlushWait, bytes);
      step_state(step, profiler::kStepRecvGpuWait, bytes);
      stop(step);
      progress(op, profiler::kOpRecvReceived, (i + 1) * bytes, i + 1);
    }
    stop(op);
  }

  // The proxy's thread, or from NCCL 2.32 on the profiler's.
  void* start_kernel(void* call, uint8_t channel = 0, uint64_t timer = 1000) {
    if constexpr (kHasKernels) {
      if (!wants(profiler::kKernelChannel)) return nullptr;
      Descriptor descriptor{};
      set(descriptor, profiler::kKernelChannel, call);
      descriptor.kernel_channel.channel = channel;
      if constexpr (kDescribes) descriptor.kernel_channel.timer_ns = timer;
      return start(descriptor);
    } else {
      return nullptr;
    }
  }
  void stop_kernel(void* kernel, uint64_t timer = 3000) {
    if (kernel == nullptr) return;
    if constexpr (kDescribes) {
      Arguments arguments{};
      arguments.stop_timer_ns = timer;
      EXPECT_EQ(table_.record_event_state(kernel, profiler::kKernelChannelStop, &arguments),
                kSuccess);
    }
    stop(kernel);
  }

  void stop(void* event) {
    if (event != nullptr) {
      EXPECT_EQ(table_.stop_event(event), kSuccess);
    }
  }
  void* start(uint64_t type, void* parent) {
    Descriptor descriptor{};
    set(descriptor, type, parent);
    return start(descriptor);
  }
  void* start(Descriptor& descriptor) {
    void* event = this;  // NCCL does not zero it
    EXPECT_EQ(table_.start_event(context_, &event, &descriptor), kSuccess);
    return event;
  }
  void set(Descriptor& descriptor, uint64_t type, void* parent) {
    descriptor.type = static_cast<decltype(descriptor.type)>(type);
    descriptor.parent = parent;
    descriptor.rank = rank_;
  }

 private:
  // Versions 1 to 3 report an operation's bytes so far.
  void progress(void* op, profiler::State state, size_t bytes, int steps) {
    if (op == nullptr) return;
    if constexpr (!kDescribes) {
      Arguments arguments{};
      arguments.proxy_op = {bytes, steps};
      EXPECT_EQ(table_.record_event_state(op, state, &arguments), kSuccess);
    }
  }

  template <typename Coll>
  void fill_coll(Coll& coll, const FakeCall& call) {
    coll.sequence = call.sequence;
    coll.count = call.count;
    coll.root = call.root;
    if constexpr (std::is_same_v<decltype(coll.function), uint8_t>) {
      coll.function = call.function_number;
      coll.data_type = call.type_number;
      coll.algorithm = call.algorithm_number;
      coll.protocol = call.protocol_number;
    } else {
      coll.function = call.function;
      coll.data_type = call.data_type;
      coll.algorithm = call.algorithm;
      coll.protocol = call.protocol;
    }
    if constexpr (requires { coll.comm_hash; }) {
      coll.comm_hash = hash_;
      coll.max_channels = call.channels;
    } else {
      coll.channels = call.channels;
    }
    if constexpr (requires { coll.user_tag; }) coll.user_tag = call.user_tag;
  }
  template <typename P2p>
  void fill_p2p(P2p& p2p, const FakeCall& call) {
    p2p.count = call.count;
    p2p.peer = call.root;
    if constexpr (std::is_same_v<decltype(p2p.function), uint8_t>) {
      p2p.function = call.function_number;
      p2p.data_type = call.type_number;
    } else {
      p2p.function = call.function;
      p2p.data_type = call.data_type;
    }
    if constexpr (requires { p2p.comm_hash; }) p2p.comm_hash = hash_;
    if constexpr (requires { p2p.channels; }) p2p.channels = call.channels;
    if constexpr (requires { p2p.user_tag; }) p2p.user_tag = call.user_tag;
  }

  const Table& table_;
  const int rank_;
  const uint64_t hash_;
  void* context_ = nullptr;
  int mask_ = 0;
};

}  // namespace heddle::nccl
