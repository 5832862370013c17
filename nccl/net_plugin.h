// NetPlugin: one interface for every version of NCCL's net table. Its functions have the contracts
// of v12::Net; what an older table lacks is as NCCL itself supplies it. net_library.h makes one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/net_v12.h"

namespace heddle::nccl {

// The largest message, and the largest collective's, of a table that states none (before v9).
inline constexpr size_t kMaxBytesBeforeV9 = size_t{1} << 30;
inline constexpr size_t kMaxCollBytesBeforeV9 = size_t{1} << 29;
// The most buffers of one irecv that NCCL posts.
inline constexpr int kMaxGroupedReceives = 8;

class NetPlugin {
 public:
  virtual ~NetPlugin() = default;

  // 6 to 12.
  virtual int version() const = 0;
  virtual const char* name() const = 0;

  // Before v11 a table's init runs on the first call only, and `context` names the traffic class.
  // init and finalize are called by one thread.
  virtual Status init(void** context, uint64_t comm_id, v12::CommConfig config, Logger log,
                      ProfilerCallback profile) = 0;
  virtual Status devices(int* count) = 0;
  virtual Status get_properties(int device, v12::Properties* properties) = 0;
  virtual Status listen(void* context, int device, void* handle, void** listen_comm) = 0;
  virtual Status connect(void* context, int device, void* handle, void** send_comm) = 0;
  virtual Status accept(void* listen_comm, void** recv_comm) = 0;
  // kInternalError for a size that the table cannot express.
  virtual Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) = 0;
  virtual Status dereg_mr(void* comm, void* mhandle) = 0;
  // A message: where it is, how much, and the tag that names a buffer of a grouped receive.
  struct Message {
    void* data = nullptr;
    size_t size = 0;
    int tag = 0;
    void* mhandle = nullptr;
    void* phandle = nullptr;
  };
  virtual Status isend(void* send_comm, const Message& message, void** request) = 0;
  // `messages` has `count` buffers, 1 to kMaxGroupedReceives.
  virtual Status irecv(void* recv_comm, int count, const Message* messages, void** request) = 0;
  virtual Status test(void* request, int* done, int* sizes) = 0;
  virtual Status close_send(void* send_comm) = 0;
  virtual Status close_recv(void* recv_comm) = 0;
  virtual Status close_listen(void* listen_comm) = 0;
  virtual Status finalize(void* context) = 0;
};

}  // namespace heddle::nccl
