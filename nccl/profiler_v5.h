// NCCL's profiler table, version 5 (NCCL 2.28): API calls and kernel launches are new; the parent
// of a collective is the API call. It is exported as `ncclProfiler_v5`.
#pragma once

#include "nccl/profiler_v4.h"

namespace heddle::nccl::profiler_v5 {

using profiler::NetPlugin;
using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;
using profiler_v4::KernelChannel;
using profiler_v4::StateArguments;

struct GroupApi {
  bool graph_captured;
  int depth;  // 1: NCCL's own group around a single call
};

struct CollApi {
  const char* function;
  size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool graph_captured;
};

struct P2pApi {
  const char* function;
  size_t count;
  const char* data_type;
  void* stream;
  bool graph_captured;
};

struct KernelLaunch {
  void* stream;
};

struct Coll {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
};

struct P2p {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
  void* parent_group;
};

struct Descriptor {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
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
  Status (*init)(void** context, uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, Logger log);
  Status (*start_event)(void* context, void** event, Descriptor* descriptor);
  Status (*stop_event)(void* event);
  Status (*record_event_state)(void* event, State state, StateArguments* arguments);
  Status (*finalize)(void* context);
};

}  // namespace heddle::nccl::profiler_v5
