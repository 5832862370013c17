// NetAdapter: a table of one version behind NetPlugin. The rules are NCCL's own (its plugin
// loader): before v11 one init a process, before v9 messages of at most 1 GiB, before v8 the same
// for memory.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <type_traits>

#include "nccl/net_plugin.h"

namespace heddle::nccl::library {

// Devices of a virtual device, rail and plane: as NCCL fills what a table lacks.
template <int kVersion, typename Older>
void fill_properties(int device, const Older& from, v12::Properties& to) {
  to = {};
  to.name = from.name;
  to.pci_path = from.pci_path;
  to.guid = from.guid;
  to.pointers = from.pointers;
  to.speed_mbps = from.speed_mbps;
  to.port = from.port;
  to.latency_us = from.latency_us;
  to.max_comms = from.max_comms;
  to.max_recvs = from.max_recvs;
  to.device_type = kDeviceHost;
  to.virtual_device.count = 1;
  to.virtual_device.devices[0] = device;
  to.max_p2p_bytes = kMaxBytesBeforeV9;
  to.max_coll_bytes = kMaxCollBytesBeforeV9;
  to.max_multi_request_size = 1;
  to.rail_id = kUndefinedId;
  to.plane_id = kUndefinedId;
  if constexpr (kVersion >= 7) {
    to.device_type = from.device_type;
    to.device_version = from.device_version;
  }
  if constexpr (kVersion >= 8) to.mr_is_global = from.mr_is_global;
  if constexpr (kVersion >= 9) {
    to.force_flush = from.force_flush;
    constexpr int kMost = std::extent_v<decltype(from.virtual_device.devices)>;
    const int count = from.virtual_device.count;
    to.virtual_device.count = count < 0 ? 0 : (count > kMost ? kMost : count);
    for (int i = 0; i < to.virtual_device.count; ++i) {
      to.virtual_device.devices[i] = from.virtual_device.devices[i];
    }
    to.max_p2p_bytes = from.max_p2p_bytes;
    to.max_coll_bytes = from.max_coll_bytes;
  }
  if constexpr (kVersion >= 11) to.max_multi_request_size = from.max_multi_request_size;
  if constexpr (kVersion >= 12) {
    to.rail_id = from.rail_id;
    to.plane_id = from.plane_id;
  }
}

template <int kVersion, typename Net, typename Properties>
class NetAdapter final : public NetPlugin {
 public:
  explicit NetAdapter(Net& table) : table_(table) {}

  int version() const override { return kVersion; }
  const char* name() const override { return table_.name; }

  Status init(void** context, uint64_t comm_id, v12::CommConfig config, Logger log,
              ProfilerCallback profile) override {
    if constexpr (kVersion >= 11) {
      return table_.init(context, comm_id, &config, log, profile);
    } else {
      if (open_contexts_ == 0) {
        const Status status = first_init(log, profile);
        if (status != kSuccess) return status;
      }
      ++open_contexts_;
      *context = std::make_unique<v12::CommConfig>(config).release();
      return kSuccess;
    }
  }

  Status finalize(void* context) override {
    if constexpr (kVersion >= 11) {
      return table_.finalize(context);
    } else {
      if (context == nullptr) return kSuccess;
      const std::unique_ptr<v12::CommConfig> ended(static_cast<v12::CommConfig*>(context));
      --open_contexts_;
      return kSuccess;
    }
  }

  Status devices(int* count) override { return table_.devices(count); }

  Status get_properties(int device, v12::Properties* properties) override {
    Properties own{};
    const Status status = table_.get_properties(device, &own);
    if (status == kSuccess) fill_properties<kVersion>(device, own, *properties);
    return status;
  }

  Status listen(void* context, int device, void* handle, void** listen_comm) override {
    if constexpr (kVersion >= 11) {
      return table_.listen(context, device, handle, listen_comm);
    } else {
      return table_.listen(device, handle, listen_comm);
    }
  }

  Status connect(void* context, int device, void* handle, void** send_comm) override {
    [[maybe_unused]] DeviceHandle* offload = nullptr;
    if constexpr (kVersion >= 11) {
      return table_.connect(context, device, handle, send_comm, &offload);
    } else if constexpr (kVersion == 10) {
      auto* const config = static_cast<v12::CommConfig*>(context);
      return table_.connect(device, config, handle, send_comm, &offload);
    } else if constexpr (kVersion >= 7) {
      return table_.connect(device, handle, send_comm, &offload);
    } else {
      return table_.connect(device, handle, send_comm);
    }
  }

  Status accept(void* listen_comm, void** recv_comm) override {
    if constexpr (kVersion >= 7) {
      DeviceHandle* offload = nullptr;
      return table_.accept(listen_comm, recv_comm, &offload);
    } else {
      return table_.accept(listen_comm, recv_comm);
    }
  }

  Status reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) override {
    if constexpr (kVersion >= 8) {
      return table_.reg_mr(comm, data, size, type, mhandle);
    } else {
      if (size > size_t{std::numeric_limits<int>::max()}) return kInternalError;
      return table_.reg_mr(comm, data, static_cast<int>(size), type, mhandle);
    }
  }

  Status dereg_mr(void* comm, void* mhandle) override { return table_.dereg_mr(comm, mhandle); }

  Status isend(void* send_comm, const Message& message, void** request) override {
    if constexpr (kVersion >= 10) {
      return table_.isend(send_comm, message.data, message.size, message.tag, message.mhandle,
                          message.phandle, request);
    } else {
      if (!fits(message.size)) return kInternalError;
      return table_.isend(send_comm, message.data, static_cast<Size>(message.size), message.tag,
                          message.mhandle, request);
    }
  }

  Status irecv(void* recv_comm, int count, const Message* messages, void** request) override {
    if (count < 1 || count > kMaxGroupedReceives) return kInternalError;
    std::array<void*, kMaxGroupedReceives> data{};
    std::array<Size, kMaxGroupedReceives> sizes{};
    std::array<int, kMaxGroupedReceives> tags{};
    std::array<void*, kMaxGroupedReceives> mhandles{};
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      if (!fits(messages[i].size)) return kInternalError;
      data[at] = messages[i].data;
      sizes[at] = static_cast<Size>(messages[i].size);
      tags[at] = messages[i].tag;
      mhandles[at] = messages[i].mhandle;
    }
    if constexpr (kVersion >= 10) {
      std::array<void*, kMaxGroupedReceives> phandles{};
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) phandles[i] = messages[i].phandle;
      return table_.irecv(recv_comm, count, data.data(), sizes.data(), tags.data(), mhandles.data(),
                          phandles.data(), request);
    } else {
      // As NCCL does: before v9 the mark "completion optional" does not exist.
      const auto mark = reinterpret_cast<uintptr_t>(*request);
      if (kVersion < 9 && mark == kOptionalCompletion) *request = nullptr;
      return table_.irecv(recv_comm, count, data.data(), sizes.data(), tags.data(), mhandles.data(),
                          request);
    }
  }

  Status test(void* request, int* done, int* sizes) override {
    return table_.test(request, done, sizes);
  }
  Status close_send(void* send_comm) override { return table_.close_send(send_comm); }
  Status close_recv(void* recv_comm) override { return table_.close_recv(recv_comm); }
  Status close_listen(void* listen_comm) override { return table_.close_listen(listen_comm); }

 private:
  using Size = std::conditional_t<(kVersion >= 9), size_t, int>;

  static bool fits(size_t size) { return kVersion >= 9 || size <= kMaxBytesBeforeV9; }

  Status first_init([[maybe_unused]] Logger log, [[maybe_unused]] ProfilerCallback profile) {
    if constexpr (kVersion == 10) {
      return table_.init(log, profile);
    } else {
      return table_.init(log);
    }
  }

  Net& table_;
  int open_contexts_ = 0;
};

}  // namespace heddle::nccl::library
