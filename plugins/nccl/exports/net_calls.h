// The calls of NCCL's net tables, in the form of the newest version (nccl/net_v12.h has their
// contracts); net_tables.cc adapts older versions. None throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/net_v12.h"
#include "nccl/types.h"
#include "plugins/nccl/net/device.h"

namespace heddle::nccl::calls {

// The largest message: receives and sends of NCCL are no larger.
inline constexpr size_t kMostBytes = size_t{1} << 30;

// `context` is written where it is not null; finalize() frees it.
Status init(void** context, int traffic_class, Logger log, ProfilerCallback profile);
Status finalize(void* context);
Status devices(int* count);
// The device, or null after a log line.
const Device* find_device(int index);
Status make_virtual_device(int* index, const int* members, int count);

Status listen(int device, int traffic_class, void* handle, void** listen_comm);
Status connect(int device, int traffic_class, void* handle, void** send_comm);
Status accept(void* listen_comm, void** recv_comm);
Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle);
Status dereg_mr(void* comm, void* mhandle);
Status isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* phandle,
             void** request);

// The arrays of irecv, each of n entries; phandles may be null.
struct Receive {
  int n = 0;
  void** data = nullptr;
  int* tags = nullptr;
  void** mhandles = nullptr;
  void** phandles = nullptr;
};
// `size(i)` is that of the i-th buffer.
Status irecv(void* recv_comm, const Receive& receive, const size_t* sizes, const int* int_sizes,
             void** request);
Status iflush(void** request);
Status test(void* request, int* done, int* sizes);
Status close_comm(void* comm);
Status close_listen(void* listen_comm);

// The traffic class of a context that init() wrote.
int traffic_class_of(const void* context);

}  // namespace heddle::nccl::calls
