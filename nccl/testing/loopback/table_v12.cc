// The loopback plugin's net table of version 12.
#include <array>

#include "nccl/net_v12.h"
#include "nccl/testing/loopback/loopback.h"

namespace heddle::nccl::v12 {
namespace {

Status init(void** context, uint64_t /*comm_id*/, CommConfig* /*config*/, Logger /*log*/,
            ProfilerCallback /*profile*/) {
  static char mark = 0;
  *context = &mark;
  return loopback::init();
}

Status get_properties(int device, Properties* properties) {
  if (device != 0) return kInvalidArgument;
  loopback::fill_first_properties(*properties);
  properties->virtual_device.count = 1;
  properties->virtual_device.devices[0] = device;
  properties->max_p2p_bytes = size_t{1} << 40;
  properties->max_coll_bytes = size_t{1} << 40;
  properties->max_multi_request_size = 3;
  properties->rail_id = 4;
  properties->plane_id = 5;
  return kSuccess;
}

Status listen(void* /*context*/, int /*device*/, void* handle, void** listen_comm) {
  return loopback::listen(handle, listen_comm);
}

Status connect(void* /*context*/, int /*device*/, void* handle, void** send_comm,
               DeviceHandle** /*offload*/) {
  return loopback::connect(handle, send_comm);
}

Status accept(void* listen_comm, void** recv_comm, DeviceHandle** /*offload*/) {
  return loopback::accept(listen_comm, recv_comm);
}

Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) {
  return loopback::reg_mr(comm, data, static_cast<size_t>(size), type, mhandle);
}

Status isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void* /*phandle*/,
             void** request) {
  return loopback::isend(send_comm, data, static_cast<size_t>(size), tag, mhandle, request);
}

Status irecv(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
             void** /*phandles*/, void** request) {
  std::array<size_t, loopback::kMaxGroup> wide{};
  for (int i = 0; i < n; ++i) wide[static_cast<size_t>(i)] = static_cast<size_t>(sizes[i]);
  return loopback::irecv(recv_comm, n, data, wide.data(), tags, mhandles, request);
}

Status iflush(void* /*recv_comm*/, int /*n*/, void** /*data*/, int* /*sizes*/, void** /*mhandles*/,
              void** request) {
  *request = nullptr;
  return kSuccess;
}

Status finalize(void* context) { return context == nullptr ? kInvalidUsage : kSuccess; }

constexpr Net kTable = {.name = "Loopback",
                        .init = init,
                        .devices = loopback::devices,
                        .get_properties = get_properties,
                        .listen = listen,
                        .connect = connect,
                        .accept = accept,
                        .reg_mr = reg_mr,
                        .dereg_mr = loopback::dereg_mr,
                        .isend = isend,
                        .irecv = irecv,
                        .iflush = iflush,
                        .test = loopback::test,
                        .close_send = loopback::close_comm,
                        .close_recv = loopback::close_comm,
                        .close_listen = loopback::close_listen,
                        .finalize = finalize};

}  // namespace
}  // namespace heddle::nccl::v12

extern "C" __attribute__((visibility("default"))) const heddle::nccl::v12::Net ncclNetPlugin_v12;
const heddle::nccl::v12::Net ncclNetPlugin_v12 = heddle::nccl::v12::kTable;
