// NCCL's net tables, versions 6 to 12, over net_calls.h. A version has its own table of the calls
// whose form it changed, and takes the others from the version above it.
#include "plugins/nccl/exports/net_tables.h"

#include <algorithm>
#include <cstddef>

#include "plugins/nccl/exports/net_calls.h"
#include "plugins/nccl/net/request.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {
namespace {

constexpr char kName[] = "heddle";

// NCCL's structures have pointers to characters that it does not change.
char* text(const std::string& text) { return text.empty() ? nullptr : const_cast<char*>(&text[0]); }

// Versions differ in the fields that they have.
template <typename Properties>
Status get_properties(int index, Properties* p) {
  const Device* const device = calls::find_device(index);
  if (device == nullptr || p == nullptr) return kInvalidArgument;
  *p = {};
  p->name = text(device->name);
  p->pci_path = text(device->pci_path);
  p->guid = device->guid;
  p->pointers = kPointerHost;
  p->speed_mbps = device->speed_mbits;
  p->port = device->port;
  p->latency_us = device->latency_us;
  p->max_comms = params::net::kMostComms;
  p->max_recvs = kMaxParts;
  if constexpr (requires { p->max_p2p_bytes; }) {
    p->max_p2p_bytes = calls::kMostBytes;
    p->max_coll_bytes = calls::kMostBytes;
  }
  if constexpr (requires { p->virtual_device; }) {
    auto& parts = p->virtual_device;
    const size_t count = std::min(device->members.size(), std::size(parts.devices));
    parts.count = static_cast<int>(count);
    std::copy_n(device->members.begin(), count, parts.devices);
  }
  if constexpr (requires { p->max_multi_request_size; }) p->max_multi_request_size = 1;
  if constexpr (requires { p->rail_id; }) {
    p->rail_id = static_cast<int16_t>(device->rail);
    p->plane_id = static_cast<int16_t>(device->plane);
  }
  return kSuccess;
}

template <typename VirtualDevice>
Status make_virtual_device(int* index, VirtualDevice* parts) {
  return parts == nullptr ? kInvalidArgument
                          : calls::make_virtual_device(index, parts->devices, parts->count);
}

template <typename Config>
int traffic_class(const Config* config) {
  return config == nullptr ? kUndefinedTrafficClass : config->traffic_class;
}

Status iflush(void*, int, void**, int*, void**, void** request) { return calls::iflush(request); }

// --- versions 11 and 12: a context for each communicator ---

template <typename Config>
Status init_context(void** context, uint64_t, Config* config, Logger log,
                    ProfilerCallback profile) {
  return calls::init(context, traffic_class(config), log, profile);
}

Status listen_in(void* context, int device, void* handle, void** listen_comm) {
  return calls::listen(device, calls::traffic_class_of(context), handle, listen_comm);
}

Status connect_in(void* context, int device, void* handle, void** send_comm, DeviceHandle**) {
  return calls::connect(device, calls::traffic_class_of(context), handle, send_comm);
}

Status accept(void* listen_comm, void** recv_comm, DeviceHandle**) {
  return calls::accept(listen_comm, recv_comm);
}

Status irecv(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
             void** phandles, void** request) {
  return calls::irecv(recv_comm, {n, data, tags, mhandles, phandles}, sizes, nullptr, request);
}

template <typename Attributes>
Status set_attributes(void*, Attributes*) {
  return kSuccess;  // hints on the pattern of traffic, which heddle does not need
}

// --- version 10: the configuration comes with connect ---

Status init_10(Logger log, ProfilerCallback profile) {
  return calls::init(nullptr, kUndefinedTrafficClass, log, profile);
}

Status listen(int device, void* handle, void** listen_comm) {
  return calls::listen(device, kUndefinedTrafficClass, handle, listen_comm);
}

Status connect_10(int device, v10::CommConfig* config, void* handle, void** send_comm,
                  DeviceHandle**) {
  return calls::connect(device, traffic_class(config), handle, send_comm);
}

// --- version 9: no profiler ---

Status init_9(Logger log) { return calls::init(nullptr, kUndefinedTrafficClass, log, nullptr); }

Status connect_9(int device, void* handle, void** send_comm, DeviceHandle**) {
  return calls::connect(device, kUndefinedTrafficClass, handle, send_comm);
}

Status isend_9(void* send_comm, void* data, size_t size, int tag, void* mhandle, void** request) {
  return calls::isend(send_comm, data, size, tag, mhandle, nullptr, request);
}

Status irecv_9(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
               void** request) {
  return calls::irecv(recv_comm, {n, data, tags, mhandles, nullptr}, sizes, nullptr, request);
}

// --- version 8 and older: sizes are int; a negative one is not a size ---

Status negative_size(void** request) {
  if (request != nullptr) *request = nullptr;
  return kInvalidArgument;
}

Status isend_8(void* send_comm, void* data, int size, int tag, void* mhandle, void** request) {
  if (size < 0) return negative_size(request);
  return calls::isend(send_comm, data, static_cast<size_t>(size), tag, mhandle, nullptr, request);
}

Status irecv_8(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
               void** request) {
  if (std::any_of(sizes, sizes + std::max(n, 0), [](int size) { return size < 0; })) {
    return negative_size(request);
  }
  return calls::irecv(recv_comm, {n, data, tags, mhandles, nullptr}, nullptr, sizes, request);
}

Status reg_mr_7(void* comm, void* data, int size, int type, void** mhandle) {
  if (size < 0) return kInvalidArgument;
  return calls::reg_mr(comm, data, static_cast<size_t>(size), type, mhandle);
}

Status connect_6(int device, void* handle, void** send_comm) {
  return calls::connect(device, kUndefinedTrafficClass, handle, send_comm);
}

// What all versions have in common.
template <typename Net>
constexpr Net base_table() {
  Net net = {};
  net.name = kName;
  net.devices = &calls::devices;
  net.get_properties = &get_properties;
  net.dereg_mr = &calls::dereg_mr;
  net.iflush = &iflush;
  net.test = &calls::test;
  net.close_send = &calls::close_comm;
  net.close_recv = &calls::close_comm;
  net.close_listen = &calls::close_listen;
  return net;
}

template <typename Net>
constexpr Net context_table() {
  Net net = base_table<Net>();
  net.init = &init_context;
  net.listen = &listen_in;
  net.connect = &connect_in;
  net.accept = &accept;
  net.reg_mr = &calls::reg_mr;
  net.isend = &calls::isend;
  net.irecv = &irecv;
  net.make_virtual_device = &make_virtual_device;
  net.finalize = &calls::finalize;
  net.set_attributes = &set_attributes;
  return net;
}

constexpr v10::Net table_10() {
  v10::Net net = base_table<v10::Net>();
  net.init = &init_10;
  net.listen = &listen;
  net.connect = &connect_10;
  net.accept = &accept;
  net.reg_mr = &calls::reg_mr;
  net.isend = &calls::isend;
  net.irecv = &irecv;
  net.make_virtual_device = &make_virtual_device;
  return net;
}

constexpr v9::Net table_9() {
  v9::Net net = base_table<v9::Net>();
  net.init = &init_9;
  net.listen = &listen;
  net.connect = &connect_9;
  net.accept = &accept;
  net.reg_mr = &calls::reg_mr;
  net.isend = &isend_9;
  net.irecv = &irecv_9;
  net.make_virtual_device = &make_virtual_device;
  return net;
}

// Versions 6 to 8, without connect and accept of version 6.
template <typename Net>
constexpr Net int_table() {
  Net net = base_table<Net>();
  net.init = &init_9;
  net.listen = &listen;
  net.isend = &isend_8;
  net.irecv = &irecv_8;
  return net;
}

constexpr v8::Net table_8() {
  v8::Net net = int_table<v8::Net>();
  net.connect = &connect_9;
  net.accept = &accept;
  net.reg_mr = &calls::reg_mr;
  return net;
}

constexpr v7::Net table_7() {
  v7::Net net = int_table<v7::Net>();
  net.connect = &connect_9;
  net.accept = &accept;
  net.reg_mr = &reg_mr_7;
  return net;
}

constexpr v6::Net table_6() {
  v6::Net net = int_table<v6::Net>();
  net.connect = &connect_6;
  net.accept = &calls::accept;
  net.reg_mr = &reg_mr_7;
  return net;
}

}  // namespace
}  // namespace heddle::nccl

const heddle::nccl::v12::Net ncclNetPlugin_v12 =
    heddle::nccl::context_table<heddle::nccl::v12::Net>();
const heddle::nccl::v11::Net ncclNetPlugin_v11 =
    heddle::nccl::context_table<heddle::nccl::v11::Net>();
const heddle::nccl::v10::Net ncclNetPlugin_v10 = heddle::nccl::table_10();
const heddle::nccl::v9::Net ncclNetPlugin_v9 = heddle::nccl::table_9();
const heddle::nccl::v8::Net ncclNetPlugin_v8 = heddle::nccl::table_8();
const heddle::nccl::v7::Net ncclNetPlugin_v7 = heddle::nccl::table_7();
const heddle::nccl::v6::Net ncclNetPlugin_v6 = heddle::nccl::table_6();
