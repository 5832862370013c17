// NCCL's net table, version 12, the newest of NCCL 2.30.7: version 11, with rail and plane of a
// device and up to eight parts of a virtual device. It is exported as `ncclNetPlugin_v12`.
// The newest table states the contract of each function; older headers state differences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/net_v11.h"
#include "nccl/types.h"

namespace heddle::nccl::v12 {

inline constexpr int kMaxParts = 8;

// The physical devices that one device consists of.
struct VirtualDevice {
  int count;
  int devices[kMaxParts];
};

using CommConfig = v11::CommConfig;
using CommAttributes = v11::CommAttributes;
using Attributes = v11::Attributes;

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
  int16_t rail_id;  // kUndefinedId where unknown
  int16_t plane_id;
};

struct Net {
  const char* name;
  // Once a communicator, on its init thread. Writes what the other calls get as `context`.
  Status (*init)(void** context, uint64_t comm_id, CommConfig* config, Logger log,
                 ProfilerCallback profile);
  // 0 or fewer devices: NCCL takes the next plugin.
  Status (*devices)(int* count);
  Status (*get_properties)(int device, Properties* properties);
  // Writes up to kHandleBytes to `handle`, which NCCL brings to the peer for its connect.
  Status (*listen)(void* context, int device, void* handle, void** listen_comm);
  // Never blocks: succeeds with a null `send_comm` until the connection exists, and is called again
  // with the same `handle` buffer. A non-null `*device_comm` asks for offload.
  Status (*connect)(void* context, int device, void* handle, void** send_comm,
                    DeviceHandle** device_comm);
  // As connect, for the listening side.
  Status (*accept)(void* listen_comm, void** recv_comm, DeviceHandle** device_comm);
  // `comm` is of either kind; `type` is one bit kPointer.... May run while isend and irecv run.
  Status (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  // Null without kPointerDmabuf.
  Status (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                          void** mhandle);
  Status (*dereg_mr)(void* comm, void* mhandle);
  // Messages meet buffers in the order of posting; the size may be 0. Writes null to `request`
  // where nothing can be posted now. At most kMaxRequests of a comm are open.
  Status (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* phandle,
                  void** request);
  // Up to max_recvs buffers of one request, each filled by a send of its tag; sizes are upper
  // bounds. `*request` arrives as kOptionalCompletion where NCCL may skip the test of n = 1.
  Status (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                  void** phandles, void** request);
  // Makes what was received into device memory visible to the device.
  Status (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                   void** request);
  // `sizes`: one value of a send, n of a receive, null of a flush. Ends the request once `done`.
  Status (*test)(void* request, int* done, int* sizes);
  Status (*close_send)(void* send_comm);
  Status (*close_recv)(void* recv_comm);
  Status (*close_listen)(void* listen_comm);
  // The rest may be null, except finalize.
  Status (*get_device_mr)(void* comm, void* mhandle, void** device_mhandle);
  Status (*irecv_consumed)(void* recv_comm, int n, void* request);
  Status (*make_virtual_device)(int* device, VirtualDevice* parts);
  // Also after an init that failed (NCCL 2.28).
  Status (*finalize)(void* context);
  Status (*set_attributes)(void* context, Attributes* attributes);
};

}  // namespace heddle::nccl::v12
