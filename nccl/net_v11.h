// NCCL's net table, version 11: init is called once a communicator and makes its context, which
// finalize ends. It is exported as `ncclNetPlugin_v11`; contracts of functions: nccl/net_v12.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/net_v10.h"
#include "nccl/types.h"

namespace heddle::nccl::v11 {

using VirtualDevice = v10::VirtualDevice;
using CommConfig = v10::CommConfig;

// Bounds of the traffic of a communicator, -1 where NCCL does not know them.
struct CommAttributes {
  int32_t max_concurrent_peers;
  int32_t min_concurrent_peers;
  int32_t max_flows_per_peer;
  int32_t min_flows_per_peer;
};

// What NCCL intends with a communicator; bit masks of its operations, algorithms and protocols.
struct Attributes {
  CommAttributes send;
  CommAttributes recv;
  uint32_t operations;
  uint32_t algorithms;
  uint32_t protocols;
};

struct Properties {
  char* name;        // for logs; must outlive the call, as must pci_path
  char* pci_path;    // of the device in /sys, or null
  uint64_t guid;     // of the NIC chip, the same for all of its functions
  int pointers;      // bits kPointer...
  int mr_is_global;  // 1: a registration is valid for every comm of the device
  int force_flush;   // 1: iflush after every receive into device memory
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;    // buffers of one irecv
  int device_type;  // kDeviceHost: no offload to device code
  int device_version;
  VirtualDevice virtual_device;
  size_t max_p2p_bytes;   // of one point-to-point transfer
  size_t max_coll_bytes;  // of one transfer of a collective
  int max_multi_request_size;
};

struct Net {
  const char* name;
  Status (*init)(void** context, uint64_t comm_id, CommConfig* config, Logger log,
                 ProfilerCallback profile);
  Status (*devices)(int* count);
  Status (*get_properties)(int device, Properties* properties);
  Status (*listen)(void* context, int device, void* handle, void** listen_comm);
  Status (*connect)(void* context, int device, void* handle, void** send_comm,
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
  Status (*finalize)(void* context);
  Status (*set_attributes)(void* context, Attributes* attributes);
};

}  // namespace heddle::nccl::v11
