// NCCL's profiler table, version 7 (NCCL 2.32): a tag of the program with each call, and phases of
// kernels. It is exported as `ncclProfiler_v7`.
#pragma once

#include "nccl/profiler_v6.h"

namespace heddle::nccl::profiler_v7 {

using profiler::NetPlugin;
using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;
using profiler_v6::CeBatch;
using profiler_v6::CeSync;
using profiler_v6::GroupApi;
using profiler_v6::KernelChannel;
using profiler_v6::KernelLaunch;
using profiler_v6::StateArguments;

struct CollApi {
  const char* function;
  size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool graph_captured;
  uint64_t user_tag;  // 0: none
};

struct P2pApi {
  const char* function;
  size_t count;
  const char* data_type;
  void* stream;
  bool graph_captured;
  uint64_t user_tag;
};

struct Coll {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;  // kernels that report themselves; on symmetric memory on the first call only
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;
  const char* kernel_variant;
  bool is_symmetric;
  uint64_t user_tag;
};

struct P2p {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
  void* parent_group;
  uint64_t user_tag;
};

struct CeColl {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  const char* data_type;
  const char* sync_strategy;
  bool intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t ce_sequence;
  void* stream;
  uint64_t user_tag;
};

struct KernelPhase {
  uint8_t channel;
  uint8_t phase;  // 0: initial synchronization, 1: compute, 2: final synchronization
  const char* name;
  uint64_t timer_ns;  // start, by the GPU's globaltimer
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
    CeColl ce_coll;
    CeSync ce_sync;
    CeBatch ce_batch;
    KernelPhase kernel_phase;
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

}  // namespace heddle::nccl::profiler_v7
