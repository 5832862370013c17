// NCCL's net table, version 10: init has the profiler's callback, connect the traffic class, isend
// and irecv the profiler's handle. init is called once a process. It is exported as
// `ncclNetPlugin_v10`; contracts of functions: nccl/net_v12.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/net_v9.h"
#include "nccl/types.h"

namespace heddle::nccl::v10 {

using VirtualDevice = v9::VirtualDevice;
using Properties = v9::Properties;

struct CommConfig {
  int traffic_class;  // kUndefinedTrafficClass where the job sets none
};

struct Net {
  const char* name;
  Status (*init)(Logger log, ProfilerCallback profile);
  Status (*devices)(int* count);
  Status (*get_properties)(int device, Properties* properties);
  Status (*listen)(int device, void* handle, void** listen_comm);
  Status (*connect)(int device, CommConfig* config, void* handle, void** send_comm,
                    DeviceHandle** device_comm);
  Status (*accept)(void* listen_comm, void** recv_comm, DeviceHandle** device_comm);
  Status (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  Status (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                          void** mhandle);
  Status (*dereg_mr)(void* comm, void* mhandle);
  Status (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* phandle,
                  void** request);
  Status (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                  void** phandles, void** request);
  Status (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                   void** request);
  Status (*test)(void* request, int* done, int* sizes);
  Status (*close_send)(void* send_comm);
  Status (*close_recv)(void* recv_comm);
  Status (*close_listen)(void* listen_comm);
  Status (*get_device_mr)(void* comm, void* mhandle, void** device_mhandle);
  Status (*irecv_consumed)(void* recv_comm, int n, void* request);
  Status (*make_virtual_device)(int* device, VirtualDevice* parts);
};

}  // namespace heddle::nccl::v10
