// NCCL's profiler table, version 2 (NCCL 2.24): as version 1, with texts for numbers. It is
// exported as `ncclProfiler_v2`.
#pragma once

#include "nccl/profiler_v1.h"

namespace heddle::nccl::profiler_v2 {

using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;
using profiler_v1::StateArguments;

struct Coll {
  const char* name;
  uint64_t comm_hash;
  uint64_t sequence;
  const char* function;  // "AllReduce"
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  const char* data_type;  // "ncclFloat32"
  size_t traffic_bytes;
  uint8_t max_channels;
  uint8_t warps;
  const char* algorithm;  // "RING"
  const char* protocol;   // "LL128"
};

struct P2p {
  const char* name;
  uint64_t comm_hash;
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
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

}  // namespace heddle::nccl::profiler_v2
