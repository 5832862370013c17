// The loopback plugin's net table of version 6.
#include <array>

#include "nccl/net_v6.h"
#include "nccl/testing/loopback/loopback.h"

namespace heddle::nccl::v6 {
namespace {

Status init(Logger /*log*/) { return loopback::init(); }

Status get_properties(int device, Properties* properties) {
  if (device != 0) return kInvalidArgument;
  loopback::fill_first_properties(*properties);
  return kSuccess;
}

Status listen(int /*device*/, void* handle, void** listen_comm) {
  return loopback::listen(handle, listen_comm);
}

Status connect(int /*device*/, void* handle, void** send_comm) {
  return loopback::connect(handle, send_comm);
}

Status accept(void* listen_comm, void** recv_comm) {
  return loopback::accept(listen_comm, recv_comm);
}

Status reg_mr(void* comm, void* data, int size, int type, void** mhandle) {
  return loopback::reg_mr(comm, data, static_cast<size_t>(size), type, mhandle);
}

Status isend(void* send_comm, void* data, int size, int tag, void* mhandle, void** request) {
  return loopback::isend(send_comm, data, static_cast<size_t>(size), tag, mhandle, request);
}

Status irecv(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
             void** request) {
  std::array<size_t, loopback::kMaxGroup> wide{};
  for (int i = 0; i < n; ++i) wide[static_cast<size_t>(i)] = static_cast<size_t>(sizes[i]);
  return loopback::irecv(recv_comm, n, data, wide.data(), tags, mhandles, request);
}

Status iflush(void* /*recv_comm*/, int /*n*/, void** /*data*/, int* /*sizes*/, void** /*mhandles*/,
              void** request) {
  *request = nullptr;
  return kSuccess;
}

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
                        .close_listen = loopback::close_listen};

}  // namespace
}  // namespace heddle::nccl::v6

extern "C" __attribute__((visibility("default"))) const heddle::nccl::v6::Net ncclNetPlugin_v6;
const heddle::nccl::v6::Net ncclNetPlugin_v6 = heddle::nccl::v6::kTable;
