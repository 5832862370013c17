// VerbsLibrary: the functions of libibverbs, loaded at run time so that hosts without it run heddle
// over other datapaths. Functions that the library defines inline in its header need no entry.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

struct ibv_ah;
struct ibv_ah_attr;
struct ibv_async_event;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_device_attr;
struct ibv_mr;
struct ibv_pd;
struct ibv_port_attr;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;

namespace heddle::datapath {

// Those that register memory.
struct VerbsRegistration {
  ibv_mr* (*reg_mr)(ibv_pd* domain, void* start, size_t bytes, int access) = nullptr;
  int (*dereg_mr)(ibv_mr* memory) = nullptr;
  // Null where the library has none (before rdma-core 34).
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* domain, uint64_t offset, size_t bytes, uint64_t address,
                           int dmabuf, int access) = nullptr;
};

struct VerbsLibrary {
  VerbsRegistration memory;
  ibv_device** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(ibv_device** list) = nullptr;
  const char* (*get_device_name)(ibv_device* device) = nullptr;
  ibv_context* (*open_device)(ibv_device* device) = nullptr;
  int (*close_device)(ibv_context* context) = nullptr;
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes) = nullptr;
  int (*query_port)(ibv_context* context, unsigned char port, ibv_port_attr* attributes) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
  int (*dealloc_pd)(ibv_pd* domain) = nullptr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context) = nullptr;
  int (*destroy_comp_channel)(ibv_comp_channel* channel) = nullptr;
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* owner, ibv_comp_channel* channel,
                       int vector) = nullptr;
  int (*resize_cq)(ibv_cq* queue, int entries) = nullptr;
  int (*destroy_cq)(ibv_cq* queue) = nullptr;
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** queue, void** owner) = nullptr;
  void (*ack_cq_events)(ibv_cq* queue, unsigned count) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes) = nullptr;
  int (*modify_qp)(ibv_qp* pair, ibv_qp_attr* attributes, int mask) = nullptr;
  int (*destroy_qp)(ibv_qp* pair) = nullptr;
  ibv_ah* (*create_ah)(ibv_pd* domain, ibv_ah_attr* attributes) = nullptr;
  int (*destroy_ah)(ibv_ah* handle) = nullptr;
  int (*get_async_event)(ibv_context* context, ibv_async_event* event) = nullptr;
  void (*ack_async_event)(ibv_async_event* event) = nullptr;

  // Loads it once a process and keeps it. Errors: kUnavailable, with the package to install.
  static Result<const VerbsLibrary*> load();
};

}  // namespace heddle::datapath
