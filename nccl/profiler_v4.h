// NCCL's profiler table, version 4 (NCCL 2.27): init describes the communicator, steps report their
// sizes, kernels the GPU's times. It is exported as `ncclProfiler_v4`.
#pragma once

#include "nccl/profiler_types.h"

namespace heddle::nccl::profiler_v4 {

using profiler::NetPlugin;
using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;

struct Coll {
  uint64_t sequence;  // among the communicator's collectives of this function
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
};

struct P2p {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
};

struct KernelChannel {
  uint8_t channel;
  uint64_t timer_ns;  // start, by the GPU's globaltimer
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

union StateArguments {
  size_t step_bytes;       // of the states kStep...
  int appended_ops;        // of the states kCtrl...
  void* net_data;          // of kNetPluginUpdate
  uint64_t stop_timer_ns;  // of kKernelChannelStop and kKernelPhaseStop
};

struct Profiler {
  const char* name;
  Status (*init)(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int nodes,
                 int ranks, int rank, Logger log);
  Status (*start_event)(void* context, void** event, Descriptor* descriptor);
  Status (*stop_event)(void* event);
  Status (*record_event_state)(void* event, State state, StateArguments* arguments);
  Status (*finalize)(void* context);
};

}  // namespace heddle::nccl::profiler_v4
