// The declarations of nccl/net_v6.h to net_v12.h beside NCCL's own headers: size, offsets and kinds
// of every member, arguments of functions included. Skipped where no headers are given
// (HEDDLE_NCCL).
#include <gtest/gtest.h>

#ifdef HEDDLE_NCCL_HEADERS
#include <plugin/nccl_net.h>
#endif

#include "nccl/net_v10.h"
#include "nccl/net_v11.h"
#include "nccl/net_v12.h"
#include "nccl/net_v6.h"
#include "nccl/net_v7.h"
#include "nccl/net_v8.h"
#include "nccl/net_v9.h"
#include "nccl/testing/layout_comparison.h"

namespace heddle::nccl {
namespace {

#ifndef HEDDLE_NCCL_HEADERS

TEST(NetLayout, DeclarationsEqualThoseOfNcclsHeaders) { GTEST_SKIP() << testing::kNoHeaders; }

#else

using testing::LayoutComparison;

template <int kVersion, typename Ours, typename Theirs>
void compare_table() {
  LayoutComparison<Ours, Theirs> table("v" + std::to_string(kVersion) + "::Net");
  table.member("name", &Ours::name, &Theirs::name)
      .member("init", &Ours::init, &Theirs::init)
      .member("devices", &Ours::devices, &Theirs::devices)
      .member("get_properties", &Ours::get_properties, &Theirs::getProperties)
      .member("listen", &Ours::listen, &Theirs::listen)
      .member("connect", &Ours::connect, &Theirs::connect)
      .member("accept", &Ours::accept, &Theirs::accept)
      .member("reg_mr", &Ours::reg_mr, &Theirs::regMr)
      .member("reg_mr_dmabuf", &Ours::reg_mr_dmabuf, &Theirs::regMrDmaBuf)
      .member("dereg_mr", &Ours::dereg_mr, &Theirs::deregMr)
      .member("isend", &Ours::isend, &Theirs::isend)
      .member("irecv", &Ours::irecv, &Theirs::irecv)
      .member("iflush", &Ours::iflush, &Theirs::iflush)
      .member("test", &Ours::test, &Theirs::test)
      .member("close_send", &Ours::close_send, &Theirs::closeSend)
      .member("close_recv", &Ours::close_recv, &Theirs::closeRecv)
      .member("close_listen", &Ours::close_listen, &Theirs::closeListen);
  if constexpr (kVersion >= 7) {
    table.member("get_device_mr", &Ours::get_device_mr, &Theirs::getDeviceMr)
        .member("irecv_consumed", &Ours::irecv_consumed, &Theirs::irecvConsumed);
  }
  if constexpr (kVersion >= 9) {
    table.member("make_virtual_device", &Ours::make_virtual_device, &Theirs::makeVDevice);
  }
  if constexpr (kVersion >= 11) {
    table.member("finalize", &Ours::finalize, &Theirs::finalize)
        .member("set_attributes", &Ours::set_attributes, &Theirs::setNetAttr);
  }
}

template <int kVersion, typename Ours, typename Theirs>
void compare_properties() {
  LayoutComparison<Ours, Theirs> properties("v" + std::to_string(kVersion) + "::Properties");
  properties.member("name", &Ours::name, &Theirs::name)
      .member("pci_path", &Ours::pci_path, &Theirs::pciPath)
      .member("guid", &Ours::guid, &Theirs::guid)
      .member("pointers", &Ours::pointers, &Theirs::ptrSupport)
      .member("speed_mbps", &Ours::speed_mbps, &Theirs::speed)
      .member("port", &Ours::port, &Theirs::port)
      .member("latency_us", &Ours::latency_us, &Theirs::latency)
      .member("max_comms", &Ours::max_comms, &Theirs::maxComms)
      .member("max_recvs", &Ours::max_recvs, &Theirs::maxRecvs);
  if constexpr (kVersion >= 7) {
    properties.member("device_type", &Ours::device_type, &Theirs::netDeviceType)
        .member("device_version", &Ours::device_version, &Theirs::netDeviceVersion);
  }
  if constexpr (kVersion >= 8) {
    properties.member("mr_is_global", &Ours::mr_is_global, &Theirs::regIsGlobal);
  }
  if constexpr (kVersion >= 9) {
    properties.member("force_flush", &Ours::force_flush, &Theirs::forceFlush)
        .member("virtual_device", &Ours::virtual_device, &Theirs::vProps)
        .member("max_p2p_bytes", &Ours::max_p2p_bytes, &Theirs::maxP2pBytes)
        .member("max_coll_bytes", &Ours::max_coll_bytes, &Theirs::maxCollBytes);
  }
  if constexpr (kVersion >= 11) {
    properties.member("max_multi_request_size", &Ours::max_multi_request_size,
                      &Theirs::maxMultiRequestSize);
  }
  if constexpr (kVersion >= 12) {
    properties.member("rail_id", &Ours::rail_id, &Theirs::railId)
        .member("plane_id", &Ours::plane_id, &Theirs::planeId);
  }
}

template <typename Ours, typename Theirs>
void compare_virtual_device(const char* name) {
  LayoutComparison<Ours, Theirs>(name)
      .member("count", &Ours::count, &Theirs::ndevs)
      .member("devices", &Ours::devices, &Theirs::devs);
}

template <typename Theirs>
void compare_attributes() {
  using Ours = v11::Attributes;
  LayoutComparison<Ours, Theirs>("v11::Attributes")
      .member("send", &Ours::send, &Theirs::sendCommAttr)
      .member("recv", &Ours::recv, &Theirs::recvCommAttr)
      .member("operations", &Ours::operations, &Theirs::op)
      .member("algorithms", &Ours::algorithms, &Theirs::algo)
      .member("protocols", &Ours::protocols, &Theirs::proto);
}

TEST(NetLayout, Version6EqualsNcclsHeader) {
  compare_table<6, v6::Net, ncclNet_v6_t>();
  compare_properties<6, v6::Properties, ncclNetProperties_v6_t>();
}

TEST(NetLayout, Version7EqualsNcclsHeader) {
  compare_table<7, v7::Net, ncclNet_v7_t>();
  compare_properties<7, v7::Properties, ncclNetProperties_v7_t>();
}

TEST(NetLayout, Version8EqualsNcclsHeader) {
  compare_table<8, v8::Net, ncclNet_v8_t>();
  compare_properties<8, v8::Properties, ncclNetProperties_v8_t>();
}

TEST(NetLayout, Version9EqualsNcclsHeader) {
  compare_table<9, v9::Net, ncclNet_v9_t>();
  compare_properties<9, v9::Properties, ncclNetProperties_v9_t>();
  compare_virtual_device<v9::VirtualDevice, ncclNetVDeviceProps_v9_t>("v9::VirtualDevice");
}

TEST(NetLayout, Version10EqualsNcclsHeader) {
  compare_table<10, v10::Net, ncclNet_v10_t>();
  compare_properties<10, v10::Properties, ncclNetProperties_v10_t>();
  compare_virtual_device<v10::VirtualDevice, ncclNetVDeviceProps_v10_t>("v10::VirtualDevice");
  LayoutComparison<v10::CommConfig, ncclNetCommConfig_v10_t>("v10::CommConfig")
      .member("traffic_class", &v10::CommConfig::traffic_class,
              &ncclNetCommConfig_v10_t::trafficClass);
}

// Headers of older NCCL lack the newer versions.
TEST(NetLayout, Version11EqualsNcclsHeader) {
#if __has_include("plugin/net/net_v11.h")
  compare_table<11, v11::Net, ncclNet_v11_t>();
  compare_properties<11, v11::Properties, ncclNetProperties_v11_t>();
  compare_virtual_device<v11::VirtualDevice, ncclNetVDeviceProps_v11_t>("v11::VirtualDevice");
  compare_attributes<ncclNetAttr_v11_t>();
  LayoutComparison<v11::CommConfig, ncclNetCommConfig_v11_t>("v11::CommConfig")
      .member("traffic_class", &v11::CommConfig::traffic_class,
              &ncclNetCommConfig_v11_t::trafficClass);
#else
  GTEST_SKIP() << "the headers that HEDDLE_NCCL names have no net table of version 11";
#endif
}

TEST(NetLayout, Version12EqualsNcclsHeader) {
#if __has_include("plugin/net/net_v12.h")
  compare_table<12, v12::Net, ncclNet_v12_t>();
  compare_properties<12, v12::Properties, ncclNetProperties_v12_t>();
  compare_virtual_device<v12::VirtualDevice, ncclNetVDeviceProps_v12_t>("v12::VirtualDevice");
  compare_attributes<ncclNetAttr_v12_t>();
#else
  GTEST_SKIP() << "the headers that HEDDLE_NCCL names have no net table of version 12";
#endif
}

TEST(NetLayout, ConstantsEqualThoseOfNcclsHeaders) {
  EXPECT_EQ(kHandleBytes, NCCL_NET_HANDLE_MAXSIZE);
  EXPECT_EQ(kMaxRequests, NCCL_NET_MAX_REQUESTS);
  EXPECT_EQ(kPointerHost, NCCL_PTR_HOST);
  EXPECT_EQ(kPointerCuda, NCCL_PTR_CUDA);
  EXPECT_EQ(kPointerDmabuf, NCCL_PTR_DMABUF);
  EXPECT_EQ(int{kSuccess}, int{ncclSuccess});
  EXPECT_EQ(int{kRemoteError}, int{ncclRemoteError});
  EXPECT_EQ(int{kInProgress}, int{ncclInProgress});
  EXPECT_EQ(int{kLogWarn}, int{NCCL_LOG_WARN});
  EXPECT_EQ(int{kLogTrace}, int{NCCL_LOG_TRACE});
  EXPECT_EQ(kLogNet, static_cast<unsigned long>(NCCL_NET));
  EXPECT_EQ(int{kNetEventUpdateAndStop}, int{ncclProfilerNetEventUpdateAndStop});
#ifdef NCCL_NET_OPTIONAL_RECV_COMPLETION
  EXPECT_EQ(kOptionalCompletion, uintptr_t{NCCL_NET_OPTIONAL_RECV_COMPLETION});
#endif
}

#endif

}  // namespace
}  // namespace heddle::nccl
