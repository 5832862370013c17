// See attachment.h.
#include "datapath/xdp/attachment.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "datapath/xdp/netlink.h"
#include "datapath/xdp/params.h"
#include "datapath/xdp/program.h"
#include "datapath/xdp/rights.h"

namespace heddle::datapath {

namespace {

constexpr char kWhat[] = "cannot use AF_XDP";
constexpr uint32_t kSmallFrame = 2048;
constexpr uint32_t kLargeFrame = 4096;  // the kernel's limit: a page
constexpr uint32_t kHeadroom = 256;     // XDP_PACKET_HEADROOM, which the kernel keeps free
constexpr uint32_t kLinkBytes = kEthernetBytes + kMaxTags * kTagBytesOnWire;

// The largest IP packet that one received frame holds.
constexpr uint32_t packet_in(uint32_t frame_bytes) { return frame_bytes - kHeadroom - kLinkBytes; }

// The kernel frees a queue some time after its socket was closed, also for a process that has
// ended.
std::unique_ptr<XdpSocket> open_socket(const XdpSocketOptions& options, XdpQueue& queue,
                                       std::span<std::byte> memory, XdpFailure& failure) {
  for (int attempt = 1;; ++attempt) {
    auto socket = XdpSocket::open(options, queue, memory, failure);
    if (socket != nullptr || failure.error != EBUSY || attempt == xdp_params::kQueueAttempts) {
      return socket;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(xdp_params::kQueueRetry.count));
  }
}

const char* busy_poll_text(XdpBusyPoll::State state) {
  switch (state) {
    case XdpBusyPoll::State::kOn:
      return ", busy polling";
    case XdpBusyPoll::State::kPending:
      return ", busy polling from the first frame on";
    case XdpBusyPoll::State::kOff:
      break;
  }
  return "";
}

const char* name_of(XdpHook hook) { return hook == XdpHook::kDriver ? "native" : "generic"; }

}  // namespace

Result<std::shared_ptr<XdpAttachment>> XdpAttachment::open(const XdpOptions& options,
                                                           const XdpWanted& wanted) {
  Netlink netlink;
  if (Result<void> opened = netlink.open(); !opened) return fail(opened.error());
  Result<XdpInterface> interface = find_xdp_interface(wanted.local, netlink);
  if (!interface) return fail(std::move(interface).error());
  if (Result<void> allowed = check_xdp_rights(); !allowed) return fail(allowed.error());
  raise_locked_memory_limit();
  std::shared_ptr<XdpAttachment> made(new XdpAttachment(std::move(*interface), wanted));
  if (Result<void> attached = made->attach_best(options); !attached) return fail(attached.error());
  return made;
}

Result<void> XdpAttachment::attach_best(const XdpOptions& options) {
  const uint32_t mtu_bytes = std::min(wanted_.mtu_bytes, interface_.mtu_bytes);
  for (const Attempt& attempt : attempts(options.mode, mtu_bytes)) {
    mtu_bytes_ = mtu_bytes;
    const Outcome outcome = attach(attempt, options);
    if (outcome == Outcome::kFatal) return fail(std::move(error_));
    if (outcome == Outcome::kTryNext) continue;
    report(attempt, options.mode);
    return {};
  }
  return fail(ErrorCode::kUnavailable, kWhat + std::string(" on ") + interface_.name, reasons_,
              "choose another mode, or use UDP on this interface");
}

// What works, and each wish that is not fulfilled.
void XdpAttachment::report(const Attempt& attempt, XdpMode mode) const {
  if (mode == XdpMode::kAuto && attempt.hook == XdpHook::kGeneric) {
    log_warn("AF_XDP: {} runs in generic mode, which is slower: {}", interface_.name, reasons_);
  } else if (mode == XdpMode::kAuto && !attempt.zero_copy) {
    log_info("AF_XDP: {} has no zero copy, so the kernel copies each frame: {}", interface_.name,
             reasons_);
  }
  const std::string& remark = sockets_.front()->busy_poll().remark();
  if (!remark.empty()) log_warn("AF_XDP: {}: {}", interface_.name, remark);
  log_info("AF_XDP: {}", text());
}

std::vector<XdpAttachment::Attempt> XdpAttachment::attempts(XdpMode mode, uint32_t mtu_bytes) {
  // Several frames a packet where one does not suffice; some drivers can do only one of both.
  std::vector<bool> buffers = {false};
  if (mtu_bytes > packet_in(kSmallFrame)) buffers = {false, true};
  if (mtu_bytes > packet_in(kLargeFrame)) buffers = {true, false};
  std::vector<Attempt> all;
  for (const bool multi : buffers) {
    if (mode == XdpMode::kAuto || mode == XdpMode::kZeroCopy) {
      all.push_back({XdpHook::kDriver, true, multi});
    }
    if (mode == XdpMode::kAuto || mode == XdpMode::kCopy) {
      all.push_back({XdpHook::kDriver, false, multi});
    }
  }
  for (const bool multi : buffers) {
    if (mode == XdpMode::kAuto || mode == XdpMode::kGeneric) {
      all.push_back({XdpHook::kGeneric, false, multi});
    }
  }
  return all;
}

XdpAttachment::Outcome XdpAttachment::attach(const Attempt& attempt, const XdpOptions& options) {
  sockets_.clear();
  queues_.clear();
  const bool attached =
      link_.valid() && hook_ == attempt.hook && multi_buffer_ == attempt.multi_buffer;
  if (!attached) {
    const Outcome outcome = attach_program_for(attempt);
    if (outcome != Outcome::kDone) return outcome;
  }
  const Outcome outcome = open_sockets(attempt, options);
  if (outcome != Outcome::kDone) sockets_.clear();
  return outcome;
}

XdpAttachment::Outcome XdpAttachment::attach_program_for(const Attempt& attempt) {
  link_ = Descriptor();
  hook_ = attempt.hook;
  multi_buffer_ = attempt.multi_buffer;
  BpfResult map = make_socket_map(interface_.receive_queues * wanted_.engines);
  if (map.error != 0) return judge("map of sockets", map.error);
  map_ = std::move(map.descriptor);
  std::string verifier;
  const SteeringTarget target{.map = map_.number(), .engines = wanted_.engines};
  BpfResult program =
      load_program(steering_program(target, wanted_.local.port, interface_.addresses),
                   attempt.multi_buffer, verifier);
  if (program.error != 0) {
    if (!verifier.empty()) log_warn("AF_XDP: the kernel rejects the program: {}", verifier);
    return judge("BPF program", program.error);
  }
  program_ = std::move(program.descriptor);
  BpfResult link = attach_program(program_, interface_.device, hook_);
  if (link.error != 0) return judge(std::string(name_of(hook_)) + " attachment", link.error);
  link_ = std::move(link.descriptor);
  return Outcome::kDone;
}

XdpAttachment::Outcome XdpAttachment::open_sockets(const Attempt& attempt,
                                                   const XdpOptions& options) {
  FrameLayout layout;
  layout.frame_bytes = mtu_bytes_ <= packet_in(kSmallFrame) ? kSmallFrame : kLargeFrame;
  layout.receive_frames = xdp_params::kReceiveFrames;
  layout.transmit_frames = xdp_params::kTransmitFrames;
  layout.engines = wanted_.engines;
  if (!attempt.multi_buffer) mtu_bytes_ = std::min(mtu_bytes_, packet_in(layout.frame_bytes));
  uint32_t queues = interface_.receive_queues;
  if (options.queues > 0) queues = std::min(queues, options.queues);
  memory_ = Mapping::memory(queues * layout.queue_bytes());
  if (memory_.start() == nullptr) {
    error_ = xdp_memory_exhausted(queues * layout.queue_bytes());
    return Outcome::kFatal;
  }
  for (uint32_t number = 0; number < queues; ++number) {
    queues_.push_back(std::make_unique<XdpQueue>(layout, number));
  }
  sockets_.resize(size_t{queues} * wanted_.engines);
  XdpSocketOptions wanted;
  wanted.interface = interface_.device;
  wanted.interface_name = interface_.name;
  wanted.zero_copy = attempt.zero_copy;
  wanted.multi_buffer = attempt.multi_buffer;
  wanted.busy_poll_us = options.busy_poll_us;
  for (uint32_t number = 0; number < queues; ++number) {
    const Outcome outcome = open_queue(wanted, number);
    if (outcome != Outcome::kDone) return outcome;
    wanted.first_socket = sockets_.front()->descriptor();
  }
  senders_ = std::clamp<size_t>(interface_.transmit_queues, 1, queues);
  return Outcome::kDone;
}

XdpAttachment::Outcome XdpAttachment::open_queue(XdpSocketOptions options, uint32_t number) {
  for (uint8_t engine = 0; engine < wanted_.engines; ++engine) {
    options.engine = engine;
    XdpFailure failure;
    auto socket =
        open_socket(options, *queues_[number], {memory_.start(), memory_.bytes()}, failure);
    if (socket == nullptr) {
      // Memory that the driver cannot map for its NIC may still serve copies.
      const bool unmapped = options.zero_copy && failure.error == ENOMEM;
      return unmapped ? try_next(failure) : judge(failure.step, failure.error);
    }
    if (engine == 0) options.first_of_queue = socket->descriptor();
    const uint32_t place = number * wanted_.engines + engine;
    const int error = put_socket(map_, place, socket->descriptor());
    if (error != 0) return judge("map of sockets", error);
    sockets_[engine * queues_.size() + number] = std::move(socket);
  }
  return Outcome::kDone;
}

// Decides whether another combination may work after this error.
XdpAttachment::Outcome XdpAttachment::judge(const std::string& step, int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      error_ = xdp_refused(step);
      return Outcome::kFatal;
    case EBUSY:
    case EEXIST:
      error_ = in_use(step);
      return Outcome::kFatal;
    case ENOBUFS:
    case ENOMEM:
      error_ = xdp_memory_exhausted(memory_.bytes());
      return Outcome::kFatal;
    case EMFILE:
    case ENFILE:
      error_ = {ErrorCode::kExhausted, kWhat, "too many files are open",
                "raise the limit (`ulimit -n`)"};
      return Outcome::kFatal;
    default:
      return try_next({step, error});
  }
}

XdpAttachment::Outcome XdpAttachment::try_next(const XdpFailure& failure) {
  const std::string reason = failure.step + ": " + std::strerror(failure.error);
  if (reasons_.find(reason) == std::string::npos) {
    reasons_ += (reasons_.empty() ? "" : "; ") + reason;
  }
  return Outcome::kTryNext;
}

Error XdpAttachment::in_use(const std::string& step) const {
  Netlink netlink;
  std::string why = "another socket uses the same queue (" + step + ")";
  std::string todo = "end that process, choose fewer queues, or use UDP on this interface";
  std::optional<LinkFacts> link;
  if (netlink.open()) link = netlink.link(interface_.device);
  if (link && link->program != 0 && !link_.valid()) {
    const std::string name = program_name(link->program);
    why = "the XDP program " + std::to_string(link->program) +
          (name.empty() ? "" : " (" + name + ")") + " is attached to it";
    todo = name == "heddle_xdp"
               ? "one process uses an interface: end the other one (`ip link show dev " +
                     interface_.name + "`), or use UDP on this interface"
               : "remove it (`ip link set dev " + interface_.name +
                     " xdp off`, or end its process), or use UDP on this interface";
  }
  return {ErrorCode::kInUse, kWhat + std::string(" on ") + interface_.name, why, todo};
}

std::string XdpAttachment::text() const {
  const bool zero_copy = !sockets_.empty() && sockets_.front()->zero_copy();
  const XdpBusyPoll::State busy_poll =
      sockets_.empty() ? XdpBusyPoll::State::kOff : sockets_.front()->busy_poll().state();
  const std::string engines =
      wanted_.engines == 1 ? "" : std::to_string(wanted_.engines) + " engines, ";
  return interface_.name + ", " + std::to_string(queues_.size()) +
         (queues_.size() == 1 ? " queue, " : " queues, ") + engines + name_of(hook_) +
         (zero_copy ? ", zero copy" : ", copy") + busy_poll_text(busy_poll) + ", packets of " +
         std::to_string(mtu_bytes_) + " bytes";
}

}  // namespace heddle::datapath
