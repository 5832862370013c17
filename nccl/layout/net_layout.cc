// The layouts of the net tables in numbers, for x86-64 and AArch64 (LP64): no NCCL header is needed
// to see that a declaration has moved. net_layout_test.cc compares them with NCCL's own headers.
#include <array>
#include <cstddef>
#include <type_traits>

#include "nccl/net_v10.h"
#include "nccl/net_v11.h"
#include "nccl/net_v12.h"
#include "nccl/net_v6.h"
#include "nccl/net_v7.h"
#include "nccl/net_v8.h"
#include "nccl/net_v9.h"

namespace heddle::nccl {
namespace {

// Tables are sequences of pointers: member k is at 8 k, and nothing follows the last.
template <size_t kCount>
constexpr bool is_table(const std::array<size_t, kCount>& offsets, size_t bytes) {
  for (size_t k = 0; k < kCount; ++k) {
    if (offsets[k] != 8 * k) return false;
  }
  return bytes == 8 * kCount;
}

template <size_t kCount>
constexpr bool is_at(const std::array<size_t, kCount>& offsets,
                     const std::array<size_t, kCount>& expected) {
  return offsets == expected;
}

using N6 = v6::Net;
static_assert(std::is_standard_layout_v<N6>);
static_assert(is_table(
    std::array<size_t, 17>{
        offsetof(N6, name), offsetof(N6, init), offsetof(N6, devices), offsetof(N6, get_properties),
        offsetof(N6, listen), offsetof(N6, connect), offsetof(N6, accept), offsetof(N6, reg_mr),
        offsetof(N6, reg_mr_dmabuf), offsetof(N6, dereg_mr), offsetof(N6, isend),
        offsetof(N6, irecv), offsetof(N6, iflush), offsetof(N6, test), offsetof(N6, close_send),
        offsetof(N6, close_recv), offsetof(N6, close_listen)},
    sizeof(N6)));
using P6 = v6::Properties;
static_assert(is_at(std::array<size_t, 10>{offsetof(P6, name), offsetof(P6, pci_path),
                                           offsetof(P6, guid), offsetof(P6, pointers),
                                           offsetof(P6, speed_mbps), offsetof(P6, port),
                                           offsetof(P6, latency_us), offsetof(P6, max_comms),
                                           offsetof(P6, max_recvs), sizeof(P6)},
                    {0, 8, 16, 24, 28, 32, 36, 40, 44, 48}));

using N7 = v7::Net;
static_assert(std::is_standard_layout_v<N7>);
static_assert(is_table(
    std::array<size_t, 19>{
        offsetof(N7, name), offsetof(N7, init), offsetof(N7, devices), offsetof(N7, get_properties),
        offsetof(N7, listen), offsetof(N7, connect), offsetof(N7, accept), offsetof(N7, reg_mr),
        offsetof(N7, reg_mr_dmabuf), offsetof(N7, dereg_mr), offsetof(N7, isend),
        offsetof(N7, irecv), offsetof(N7, iflush), offsetof(N7, test), offsetof(N7, close_send),
        offsetof(N7, close_recv), offsetof(N7, close_listen), offsetof(N7, get_device_mr),
        offsetof(N7, irecv_consumed)},
    sizeof(N7)));
using P7 = v7::Properties;
static_assert(is_at(std::array<size_t, 12>{offsetof(P7, name), offsetof(P7, pci_path),
                                           offsetof(P7, guid), offsetof(P7, pointers),
                                           offsetof(P7, speed_mbps), offsetof(P7, port),
                                           offsetof(P7, latency_us), offsetof(P7, max_comms),
                                           offsetof(P7, max_recvs), offsetof(P7, device_type),
                                           offsetof(P7, device_version), sizeof(P7)},
                    {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56}));

using N8 = v8::Net;
static_assert(std::is_standard_layout_v<N8>);
static_assert(is_table(
    std::array<size_t, 19>{
        offsetof(N8, name), offsetof(N8, init), offsetof(N8, devices), offsetof(N8, get_properties),
        offsetof(N8, listen), offsetof(N8, connect), offsetof(N8, accept), offsetof(N8, reg_mr),
        offsetof(N8, reg_mr_dmabuf), offsetof(N8, dereg_mr), offsetof(N8, isend),
        offsetof(N8, irecv), offsetof(N8, iflush), offsetof(N8, test), offsetof(N8, close_send),
        offsetof(N8, close_recv), offsetof(N8, close_listen), offsetof(N8, get_device_mr),
        offsetof(N8, irecv_consumed)},
    sizeof(N8)));
using P8 = v8::Properties;
static_assert(is_at(std::array<size_t, 13>{offsetof(P8, name), offsetof(P8, pci_path),
                                           offsetof(P8, guid), offsetof(P8, pointers),
                                           offsetof(P8, mr_is_global), offsetof(P8, speed_mbps),
                                           offsetof(P8, port), offsetof(P8, latency_us),
                                           offsetof(P8, max_comms), offsetof(P8, max_recvs),
                                           offsetof(P8, device_type), offsetof(P8, device_version),
                                           sizeof(P8)},
                    {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 64}));

using N9 = v9::Net;
static_assert(std::is_standard_layout_v<N9>);
static_assert(is_table(
    std::array<size_t, 20>{offsetof(N9, name),           offsetof(N9, init),
                           offsetof(N9, devices),        offsetof(N9, get_properties),
                           offsetof(N9, listen),         offsetof(N9, connect),
                           offsetof(N9, accept),         offsetof(N9, reg_mr),
                           offsetof(N9, reg_mr_dmabuf),  offsetof(N9, dereg_mr),
                           offsetof(N9, isend),          offsetof(N9, irecv),
                           offsetof(N9, iflush),         offsetof(N9, test),
                           offsetof(N9, close_send),     offsetof(N9, close_recv),
                           offsetof(N9, close_listen),   offsetof(N9, get_device_mr),
                           offsetof(N9, irecv_consumed), offsetof(N9, make_virtual_device)},
    sizeof(N9)));
using P9 = v9::Properties;
static_assert(is_at(
    std::array<size_t, 17>{offsetof(P9, name), offsetof(P9, pci_path), offsetof(P9, guid),
                           offsetof(P9, pointers), offsetof(P9, mr_is_global),
                           offsetof(P9, force_flush), offsetof(P9, speed_mbps), offsetof(P9, port),
                           offsetof(P9, latency_us), offsetof(P9, max_comms),
                           offsetof(P9, max_recvs), offsetof(P9, device_type),
                           offsetof(P9, device_version), offsetof(P9, virtual_device),
                           offsetof(P9, max_p2p_bytes), offsetof(P9, max_coll_bytes), sizeof(P9)},
    {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 88, 96, 104}));

using N10 = v10::Net;
static_assert(std::is_standard_layout_v<N10>);
static_assert(is_table(
    std::array<size_t, 20>{offsetof(N10, name),           offsetof(N10, init),
                           offsetof(N10, devices),        offsetof(N10, get_properties),
                           offsetof(N10, listen),         offsetof(N10, connect),
                           offsetof(N10, accept),         offsetof(N10, reg_mr),
                           offsetof(N10, reg_mr_dmabuf),  offsetof(N10, dereg_mr),
                           offsetof(N10, isend),          offsetof(N10, irecv),
                           offsetof(N10, iflush),         offsetof(N10, test),
                           offsetof(N10, close_send),     offsetof(N10, close_recv),
                           offsetof(N10, close_listen),   offsetof(N10, get_device_mr),
                           offsetof(N10, irecv_consumed), offsetof(N10, make_virtual_device)},
    sizeof(N10)));

using N11 = v11::Net;
static_assert(std::is_standard_layout_v<N11>);
static_assert(is_table(
    std::array<size_t, 22>{offsetof(N11, name),           offsetof(N11, init),
                           offsetof(N11, devices),        offsetof(N11, get_properties),
                           offsetof(N11, listen),         offsetof(N11, connect),
                           offsetof(N11, accept),         offsetof(N11, reg_mr),
                           offsetof(N11, reg_mr_dmabuf),  offsetof(N11, dereg_mr),
                           offsetof(N11, isend),          offsetof(N11, irecv),
                           offsetof(N11, iflush),         offsetof(N11, test),
                           offsetof(N11, close_send),     offsetof(N11, close_recv),
                           offsetof(N11, close_listen),   offsetof(N11, get_device_mr),
                           offsetof(N11, irecv_consumed), offsetof(N11, make_virtual_device),
                           offsetof(N11, finalize),       offsetof(N11, set_attributes)},
    sizeof(N11)));
using P11 = v11::Properties;
static_assert(is_at(
    std::array<size_t, 18>{
        offsetof(P11, name), offsetof(P11, pci_path), offsetof(P11, guid), offsetof(P11, pointers),
        offsetof(P11, mr_is_global), offsetof(P11, force_flush), offsetof(P11, speed_mbps),
        offsetof(P11, port), offsetof(P11, latency_us), offsetof(P11, max_comms),
        offsetof(P11, max_recvs), offsetof(P11, device_type), offsetof(P11, device_version),
        offsetof(P11, virtual_device), offsetof(P11, max_p2p_bytes), offsetof(P11, max_coll_bytes),
        offsetof(P11, max_multi_request_size), sizeof(P11)},
    {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 88, 96, 104, 112}));

using N12 = v12::Net;
static_assert(std::is_standard_layout_v<N12>);
static_assert(is_table(
    std::array<size_t, 22>{offsetof(N12, name),           offsetof(N12, init),
                           offsetof(N12, devices),        offsetof(N12, get_properties),
                           offsetof(N12, listen),         offsetof(N12, connect),
                           offsetof(N12, accept),         offsetof(N12, reg_mr),
                           offsetof(N12, reg_mr_dmabuf),  offsetof(N12, dereg_mr),
                           offsetof(N12, isend),          offsetof(N12, irecv),
                           offsetof(N12, iflush),         offsetof(N12, test),
                           offsetof(N12, close_send),     offsetof(N12, close_recv),
                           offsetof(N12, close_listen),   offsetof(N12, get_device_mr),
                           offsetof(N12, irecv_consumed), offsetof(N12, make_virtual_device),
                           offsetof(N12, finalize),       offsetof(N12, set_attributes)},
    sizeof(N12)));
using P12 = v12::Properties;
static_assert(is_at(std::array<size_t, 20>{offsetof(P12, name),
                                           offsetof(P12, pci_path),
                                           offsetof(P12, guid),
                                           offsetof(P12, pointers),
                                           offsetof(P12, mr_is_global),
                                           offsetof(P12, force_flush),
                                           offsetof(P12, speed_mbps),
                                           offsetof(P12, port),
                                           offsetof(P12, latency_us),
                                           offsetof(P12, max_comms),
                                           offsetof(P12, max_recvs),
                                           offsetof(P12, device_type),
                                           offsetof(P12, device_version),
                                           offsetof(P12, virtual_device),
                                           offsetof(P12, max_p2p_bytes),
                                           offsetof(P12, max_coll_bytes),
                                           offsetof(P12, max_multi_request_size),
                                           offsetof(P12, rail_id),
                                           offsetof(P12, plane_id),
                                           sizeof(P12)},
                    {0,  8,  16, 24, 28,  32,  36,  40,  44,  48,
                     52, 56, 60, 64, 104, 112, 120, 124, 126, 128}));

static_assert(sizeof(v9::VirtualDevice) == 20 && offsetof(v9::VirtualDevice, devices) == 4);
static_assert(sizeof(v12::VirtualDevice) == 36 && offsetof(v12::VirtualDevice, devices) == 4);
static_assert(sizeof(v10::CommConfig) == 4);
using CommTraffic = v11::CommAttributes;
static_assert(is_at(std::array<size_t, 5>{offsetof(CommTraffic, max_concurrent_peers),
                                          offsetof(CommTraffic, min_concurrent_peers),
                                          offsetof(CommTraffic, max_flows_per_peer),
                                          offsetof(CommTraffic, min_flows_per_peer),
                                          sizeof(CommTraffic)},
                    {0, 4, 8, 12, 16}));
using Traffic = v11::Attributes;
static_assert(is_at(std::array<size_t, 6>{offsetof(Traffic, send), offsetof(Traffic, recv),
                                          offsetof(Traffic, operations),
                                          offsetof(Traffic, algorithms),
                                          offsetof(Traffic, protocols), sizeof(Traffic)},
                    {0, 16, 32, 36, 40, 44}));

}  // namespace
}  // namespace heddle::nccl
