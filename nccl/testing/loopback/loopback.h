// Loopback: a net plugin for tests, over FIFOs of one host. Its functions have the contracts of
// v12::Net without context; the tables of table_v*.cc call them.
#pragma once

#include <cstddef>

#include "nccl/testing/loopback/faults.h"
#include "nccl/types.h"

namespace heddle::nccl::loopback {

inline constexpr int kMaxGroup = 8;

Status init();
Status devices(int* count);
Status listen(void* handle, void** listen_comm);
Status connect(void* handle, void** send_comm);
Status accept(void* listen_comm, void** recv_comm);
Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle);
Status dereg_mr(void* comm, void* mhandle);
Status isend(void* send_comm, void* data, size_t size, int tag, void* mhandle, void** request);
Status irecv(void* recv_comm, int n, void** data, const size_t* sizes, const int* tags,
             void** mhandles, void** request);
Status test(void* request, int* done, int* sizes);
Status close_comm(void* comm);
Status close_listen(void* listen_comm);

// What all versions of Properties have.
template <typename Properties>
void fill_first_properties(Properties& properties) {
  static char name[] = "loopback0";
  properties = {};
  properties.name = name;
  properties.guid = 7;
  properties.pointers = kPointerHost;
  properties.speed_mbps = 10'000;
  properties.port = 1;
  properties.latency_us = 2.5F;
  properties.max_comms = 1'024;
  properties.max_recvs = read_faults().recvs;
}

}  // namespace heddle::nccl::loopback
