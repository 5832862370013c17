// NCCL's net table, version 9: sizes of messages are size_t, devices may consist of several.
// It is exported as `ncclNetPlugin_v9`; contracts of functions: nccl/net_v12.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/types.h"

namespace heddle::nccl::v9 {

inline constexpr int kMaxParts = 4;

// The physical devices that one device consists of.
struct VirtualDevice {
  int count;
  int devices[kMaxParts];
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
};

struct Net {
  const char* name;
  Status (*init)(Logger log);
  Status (*devices)(int* count);
  Status (*get_properties)(int device, Properties* properties);
  Status (*listen)(int device, void* handle, void** listen_comm);
  Status (*connect)(int device, void* handle, void** send_comm, DeviceHandle** device_comm);
  Status (*accept)(void* listen_comm, void** recv_comm, DeviceHandle** device_comm);
  Status (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  Status (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                          void** mhandle);
  Status (*dereg_mr)(void* comm, void* mhandle);
  Status (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle, void** request);
  Status (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                  void** request);
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

}  // namespace heddle::nccl::v9
