// NCCL's profiler table, version 6 (NCCL 2.30): collectives by copy engines are new. It is exported
// as `ncclProfiler_v6`.
#pragma once

#include "nccl/profiler_v5.h"

namespace heddle::nccl::profiler_v6 {

using profiler::NetPlugin;
using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;
using profiler_v5::Coll;
using profiler_v5::CollApi;
using profiler_v5::GroupApi;
using profiler_v5::KernelChannel;
using profiler_v5::KernelLaunch;
using profiler_v5::P2p;
using profiler_v5::P2pApi;
using profiler_v5::StateArguments;

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
};

struct CeSync {
  bool is_complete;
  int ranks;
};

struct CeBatch {
  int operations;
  size_t total_bytes;
  bool uses_intra_sync;
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

}  // namespace heddle::nccl::profiler_v6
