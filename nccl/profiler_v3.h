// NCCL's profiler table, version 3 (NCCL 2.26): kernels' channels and events of the net plugin are
// new. It is exported as `ncclProfiler_v3`.
#pragma once

#include "nccl/profiler_v2.h"

namespace heddle::nccl::profiler_v3 {

using profiler::NetPlugin;
using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;
using profiler_v2::P2p;
using profiler_v2::StateArguments;

struct Coll {
  const char* name;
  uint64_t comm_hash;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t max_channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct KernelChannel {
  uint8_t channel;
};

struct Descriptor {
  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
    NetPlugin net_plugin;
  };
};

struct Profiler {
  const char* name;
  Status (*init)(void** context, int* mask);
  Status (*start_event)(void* context, void** event, Descriptor* descriptor);
  Status (*stop_event)(void* event);
  Status (*record_event_state)(void* event, State state, StateArguments* arguments);
  Status (*finalize)(void* context);
};

}  // namespace heddle::nccl::profiler_v3
