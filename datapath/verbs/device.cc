// See device.h.
#include "datapath/verbs/device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {
namespace {

Unexpected cannot_open(const RdmaChoice& choice, const char* what, int error) {
  const std::string where = fmt::format("cannot use the RDMA device {}", choice.device);
  const std::string why = fmt::format("{}: {}", what, std::strerror(error));
  if (error == EACCES || error == EPERM) {
    return fail(ErrorCode::kPermission, where, why, "see heddle doctor rdma");
  }
  if (error == ENOMEM) {
    return fail(ErrorCode::kExhausted, where, why,
                "raise the limit of locked memory (ulimit -l); see heddle doctor rdma");
  }
  return fail(ErrorCode::kSystem, where, why, "see heddle doctor rdma");
}

// A peer that sends without an immediate consumes a receive of its own queue pair; it says nothing.
bool means_something(const ibv_wc& done) {
  const bool received = (done.opcode & IBV_WC_RECV) != 0;
  return done.status != IBV_WC_SUCCESS || !received || (done.wc_flags & IBV_WC_WITH_IMM) != 0;
}

const char* error_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "";
    case IBV_WC_WR_FLUSH_ERR:
      return "the queue pair has failed before";
    case IBV_WC_RETRY_EXC_ERR:
      return "the peer's NIC does not answer";
    case IBV_WC_REM_ACCESS_ERR:
      return "the peer's NIC refuses access to this memory";
    case IBV_WC_LOC_PROT_ERR:
      return "this memory is not registered any more";
    default:
      return "the NIC reports an error";
  }
}

Completion completion_of(const ibv_wc& done) {
  const bool immediate = (done.wc_flags & IBV_WC_WITH_IMM) != 0;
  return {done.wr_id, done.status == IBV_WC_SUCCESS, immediate ? ntohl(done.imm_data) : 0,
          done.byte_len, error_of(done.status)};
}

bool set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

Result<std::unique_ptr<VerbsDevice>> VerbsDevice::open(const RdmaChoice& choice,
                                                       const VerbsLibrary& library) {
  std::unique_ptr<VerbsDevice> made(new VerbsDevice(library, choice));
  if (Result<void> opened = made->open_context(); !opened) return fail(opened.error());
  if (Result<void> queues = made->make_queues(); !queues) return fail(queues.error());
  return made;
}

VerbsDevice::~VerbsDevice() {
  if (completions_ != nullptr) library_.destroy_cq(completions_);
  if (channel_ != nullptr) library_.destroy_comp_channel(channel_);
  if (domain_ != nullptr) library_.dealloc_pd(domain_);
  if (context_ != nullptr) library_.close_device(context_);
}

Result<void> VerbsDevice::open_context() {
  int count = 0;
  ibv_device** const list = library_.get_device_list(&count);
  if (list == nullptr) return cannot_open(choice_, "the devices cannot be listed", errno);
  ibv_device** const end = list + count;
  ibv_device** const found = std::find_if(list, end, [this](ibv_device* device) {
    return choice_.device == library_.get_device_name(device);
  });
  const bool known = found != end;
  if (known) context_ = library_.open_device(*found);
  const int error = errno;
  library_.free_device_list(list);
  if (!known) {
    return fail(ErrorCode::kUnavailable, "cannot use the RDMA device " + choice_.device,
                "libibverbs has no driver for it", "apt-get install ibverbs-providers");
  }
  if (context_ == nullptr) return cannot_open(choice_, "it cannot be opened", error);
  ibv_port_attr port{};
  if (const int failed = library_.query_port(context_, static_cast<uint8_t>(choice_.port), &port)) {
    return cannot_open(choice_, "its port cannot be read", failed);
  }
  mtu_ = static_cast<uint8_t>(port.active_mtu);
  ibv_device_attr device{};
  if (const int failed = library_.query_device(context_, &device)) {
    return cannot_open(choice_, "its limits cannot be read", failed);
  }
  most_capacity_ = static_cast<uint32_t>(std::max(device.max_cqe, 1));
  if (!set_nonblocking(context_->async_fd)) {
    return cannot_open(choice_, "its reports cannot be read", errno);
  }
  return {};
}

Result<void> VerbsDevice::make_queues() {
  domain_ = library_.alloc_pd(context_);
  if (domain_ == nullptr) return cannot_open(choice_, "no protection domain", errno);
  channel_ = library_.create_comp_channel(context_);
  if (channel_ == nullptr || !set_nonblocking(channel_->fd)) {
    return cannot_open(choice_, "no channel of completions", errno);
  }
  capacity_ = std::min(verbs_params::kCompletions, most_capacity_);
  completions_ = library_.create_cq(context_, static_cast<int>(capacity_), nullptr, channel_, 0);
  if (completions_ == nullptr) return cannot_open(choice_, "no queue of completions", errno);
  return {};
}

bool VerbsDevice::reserve_completions(uint32_t count) {
  const uint64_t needed = uint64_t{reserved_} + count + verbs_params::kSpareCompletions;
  if (needed > capacity_) {
    const uint64_t wanted =
        std::min<uint64_t>(std::max(needed, uint64_t{capacity_} * 2), most_capacity_);
    if (wanted < needed || library_.resize_cq(completions_, static_cast<int>(wanted)) != 0) {
      return false;
    }
    capacity_ = static_cast<uint32_t>(wanted);
  }
  reserved_ += count;
  return true;
}

size_t VerbsDevice::poll(std::span<Completion> out) {
  std::array<ibv_wc, verbs_params::kCompletionsACall> done;
  size_t taken = 0;
  while (taken < out.size()) {
    const auto most = static_cast<int>(std::min(out.size() - taken, done.size()));
    const int count = ibv_poll_cq(completions_, most, done.data());
    if (count < 0) {
      log_error("RDMA: the completion queue of {} failed", choice_.device);
      break;
    }
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      if (means_something(done[i])) out[taken++] = completion_of(done[i]);
    }
    if (count < most) break;
  }
  return taken;
}

int VerbsDevice::completion_descriptor() const { return channel_->fd; }
int VerbsDevice::report_descriptor() const { return context_->async_fd; }

void VerbsDevice::arm() {
  if (armed_) return;
  armed_ = ibv_req_notify_cq(completions_, 0) == 0;
}

void VerbsDevice::take_notification() {
  if (!armed_) return;
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  while (library_.get_cq_event(channel_, &queue, &owner) == 0) {
    library_.ack_cq_events(queue, 1);
    armed_ = false;
  }
}

bool VerbsDevice::take_reports() {
  bool broken = false;
  ibv_async_event event{};
  while (library_.get_async_event(context_, &event) == 0) {
    switch (event.event_type) {
      case IBV_EVENT_DEVICE_FATAL:
      case IBV_EVENT_CQ_ERR:
        log_error("RDMA: the device {} has failed; payload travels as datagrams", choice_.device);
        broken = true;
        break;
      case IBV_EVENT_PORT_ERR:
        log_warn("RDMA: port {} of {} is down", choice_.port, choice_.device);
        break;
      case IBV_EVENT_PORT_ACTIVE:
        log_info("RDMA: port {} of {} is up", choice_.port, choice_.device);
        break;
      default:  // of queue pairs: their completions report it too
        break;
    }
    library_.ack_async_event(&event);
  }
  return broken;
}

RegisteredRange VerbsDevice::add(void* start, uint64_t bytes) {
  RegisteredRange range;
  range.writable = true;
  range.memory = library_.memory.reg_mr(domain_, start, bytes,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (range.memory == nullptr && errno != ENOMEM) {
    range.writable = false;
    range.memory = library_.memory.reg_mr(domain_, start, bytes, 0);
  }
  if (range.memory == nullptr) {
    log_warn("RDMA: {} bytes cannot be registered ({}), so they travel as datagrams{}", bytes,
             std::strerror(errno),
             errno == ENOMEM ? "; raise the limit of locked memory (ulimit -l)" : "");
    return {};
  }
  range.local_key = range.memory->lkey;
  range.remote_key = range.memory->rkey;
  return range;
}

RegisteredRange VerbsDevice::add_device(const DeviceMemory& memory, uint64_t bytes) {
  RegisteredRange range;
  if (library_.memory.reg_dmabuf_mr == nullptr) {
    range.error = ENOSYS;
    return range;
  }
  range.memory = library_.memory.reg_dmabuf_mr(
      domain_, memory.offset, bytes, reinterpret_cast<uintptr_t>(memory.mapping), memory.dmabuf,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (range.memory == nullptr) {
    range.error = errno;
    return range;
  }
  range.writable = true;
  range.local_key = range.memory->lkey;
  range.remote_key = range.memory->rkey;
  return range;
}

void VerbsDevice::remove(const RegisteredRange& range) {
  if (library_.memory.dereg_mr(range.memory) != 0) {
    log_warn("RDMA: memory cannot be unregistered: {}", std::strerror(errno));
  }
}

}  // namespace heddle::datapath
