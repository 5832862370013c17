// NCCL's profiler table, version 1 (NCCL 2.23): calls are named by numbers of NCCL's enums. It is
// exported as `ncclProfiler_v1`.
#pragma once

#include "nccl/profiler_types.h"

namespace heddle::nccl::profiler_v1 {

using profiler::ProxyOp;
using profiler::ProxyStep;
using profiler::State;

struct Coll {
  const char* name;  // of the communicator, or null
  uint64_t comm_hash;
  uint64_t sequence;
  uint8_t function;  // ncclFunc_t
  const void* send_buffer;
  void* recv_buffer;
  size_t count;
  int root;
  uint8_t data_type;  // ncclDataType_t
  uint32_t reduction;
  size_t traffic_bytes;
  uint8_t max_channels;
  uint8_t warps;
  uint8_t algorithm;  // NCCL_ALGO_...
  uint8_t protocol;   // NCCL_PROTO_...
  int is_collnet;
  int is_nvls;
};

struct P2p {
  const char* name;
  uint64_t comm_hash;
  uint8_t function;
  void* buffer;
  uint8_t data_type;
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

// Of the states 0 to 7: what was transferred so far of an op. Null or unset for other states.
struct OpProgress {
  size_t bytes;
  int steps;
};

union StateArguments {
  OpProgress proxy_op;
  int appended_ops;
};

struct Profiler {
  const char* name;
  Status (*init)(void** context, int* mask);
  Status (*start_event)(void* context, void** event, Descriptor* descriptor);
  Status (*stop_event)(void* event);
  Status (*record_event_state)(void* event, State state, StateArguments* arguments);
  Status (*finalize)(void* context);
};

}  // namespace heddle::nccl::profiler_v1
