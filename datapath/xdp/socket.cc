// See socket.h.
#include "datapath/xdp/socket.h"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

namespace {

constexpr uint16_t kUseMultiBuffer = 1 << 4;  // XDP_USE_SG, Linux 6.6
constexpr int kMaxTransmitBudget = 9;         // XDP_MAX_TX_SKB_BUDGET, Linux 6.17

static_assert(sizeof(XdpDescriptor) == sizeof(xdp_desc));
static_assert(offsetof(XdpDescriptor, options) == offsetof(xdp_desc, options));

bool set(int socket, int name, const void* value, size_t bytes) {
  return setsockopt(socket, SOL_XDP, name, value, static_cast<socklen_t>(bytes)) == 0;
}

}  // namespace

std::unique_ptr<XdpSocket> XdpSocket::open(const XdpSocketOptions& options, XdpQueue& queue,
                                           std::span<std::byte> memory, XdpFailure& failure) {
  std::unique_ptr<XdpSocket> made(new XdpSocket(options, queue, memory));
  if (!made->socket_.valid()) {
    failed_at(failure, "socket(AF_XDP)");
    return nullptr;
  }
  if (!made->make_rings(failure) || !made->map_rings(failure)) return nullptr;
  made->configure();
  if (!made->bind_to_queue(failure)) return nullptr;
  if (made->busy_poll_.state() == XdpBusyPoll::State::kPending) {
    made->poll_driver();  // the call by which some kernels learn the NAPI of a zero-copy queue
    made->busy_poll_.settle(false);
  }
  return made;
}

XdpSocket::XdpSocket(const XdpSocketOptions& options, XdpQueue& queue, std::span<std::byte> memory)
    : options_(options),
      queue_(queue),
      memory_(memory),
      socket_(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)),
      free_(queue.transmit_frames(options.engine)) {}

bool XdpSocket::make_rings(XdpFailure& failure) {
  const int socket = socket_.number();
  const bool registers = options_.first_socket < 0 && options_.first_of_queue < 0;
  if (registers) {
    xdp_umem_reg region;
    std::memset(&region, 0, sizeof region);  // newer kernels read more of it
    region.addr = reinterpret_cast<uintptr_t>(memory_.data());
    region.len = memory_.size();
    region.chunk_size = layout().frame_bytes;
    if (!set(socket, XDP_UMEM_REG, &region, sizeof region)) {
      return failed_at(failure, "XDP_UMEM_REG");
    }
  }
  if (options_.first_of_queue < 0 && !queue_.open(socket, failure)) return false;
  const uint32_t in = layout().receive_frames;
  const uint32_t out = layout().transmit_frames;
  const bool done =
      set(socket, XDP_RX_RING, &in, sizeof in) && set(socket, XDP_TX_RING, &out, sizeof out);
  return done || failed_at(failure, "rings of the XDP socket");
}

bool XdpSocket::map_rings(XdpFailure& failure) {
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (getsockopt(socket_.number(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return failed_at(failure, "XDP_MMAP_OFFSETS");
  }
  constexpr size_t kEntry = sizeof(XdpDescriptor);
  RingPlace receive;
  RingPlace transmit;
  mappings_.push_back(map_ring(
      socket_.number(), {offsets.rx, layout().receive_frames, kEntry, XDP_PGOFF_RX_RING}, receive));
  mappings_.push_back(map_ring(socket_.number(),
                               {offsets.tx, layout().transmit_frames, kEntry, XDP_PGOFF_TX_RING},
                               transmit));
  for (const Mapping& each : mappings_) {
    if (each.start() == nullptr) return failed_at(failure, "mmap of a ring");
  }
  receive_ = ReadRing<XdpDescriptor>(receive);
  transmit_ = WriteRing<XdpDescriptor>(transmit);
  return true;
}

// All optional: older kernels work without, more slowly.
void XdpSocket::configure() {
  const int socket = socket_.number();
  set(socket, kMaxTransmitBudget, &xdp_params::kTransmitBudget, sizeof xdp_params::kTransmitBudget);
  busy_poll_ = XdpBusyPoll(busy_poll_kernel(socket), options_.busy_poll_us);
}

bool XdpSocket::bind_to_queue(XdpFailure& failure) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = options_.interface;
  address.sxdp_queue_id = queue_.number();
  const bool first = options_.first_of_queue < 0;
  const int shared = first ? options_.first_socket : options_.first_of_queue;
  if (shared >= 0) {  // the mode is the first socket's
    address.sxdp_flags = XDP_SHARED_UMEM;
    address.sxdp_shared_umem_fd = static_cast<uint32_t>(shared);
  } else {
    address.sxdp_flags =
        static_cast<uint16_t>(XDP_USE_NEED_WAKEUP | (options_.zero_copy ? XDP_ZEROCOPY : XDP_COPY) |
                              (options_.multi_buffer ? kUseMultiBuffer : 0));
  }
  if (bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed_at(failure, options_.zero_copy ? "bind of the XDP socket for zero copy"
                                                 : "bind of the XDP socket");
  }
  xdp_options options{};
  socklen_t length = sizeof options;
  getsockopt(socket_.number(), SOL_XDP, XDP_OPTIONS, &options, &length);
  zero_copy_ = (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  return true;
}

void XdpSocket::poll_driver() const {
  recvfrom(socket_.number(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

void XdpSocket::settle_busy_poll() {
  if (busy_poll_.state() != XdpBusyPoll::State::kPending) return;
  busy_poll_.settle(true);
  if (busy_polls()) {
    log_info("AF_XDP: {}, queue {}: busy polling begins", options_.interface_name, queue_.number());
  } else {
    log_warn("AF_XDP: {}, queue {}: {}", options_.interface_name, queue_.number(),
             busy_poll_.remark());
  }
}

uint64_t XdpSocket::dropped() const {
  xdp_statistics statistics{};
  socklen_t length = sizeof statistics;
  const int done = getsockopt(socket_.number(), SOL_XDP, XDP_STATISTICS, &statistics, &length);
  return done == 0 ? statistics.rx_dropped + statistics.rx_ring_full : 0;
}

bool XdpSocket::has_room(uint32_t frames) {
  if (free_.size() < frames) queue_.collect_sent(options_.engine, free_);
  return free_.size() >= frames && (transmit_.room() >= frames || transmit_.fresh_room() >= frames);
}

uint64_t XdpSocket::take_frame() {
  const uint64_t address = free_.back();
  free_.pop_back();
  return address;
}

int XdpSocket::submit(uint64_t& calls) {
  transmit_.submit();
  return push(calls);
}

int XdpSocket::push(uint64_t& calls) {
  if (!sends_in_calls()) return wake_driver(calls);
  for (uint32_t pending = transmit_.pending(); pending > 0;) {
    ++calls;
    const ssize_t done = sendto(socket_.number(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    const int error = done < 0 ? errno : 0;
    const uint32_t left = transmit_.pending();
    // Without progress the rest waits for memory or for the driver's queue.
    if (left == pending) return error == EINTR ? EAGAIN : error;
    pending = left;
  }
  return 0;
}

int XdpSocket::wake_driver(uint64_t& calls) {
  wakeup_failed_ = false;
  if (!transmit_.needs_wakeup()) return 0;
  ++calls;
  if (sendto(socket_.number(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) return 0;
  wakeup_failed_ = true;
  return errno;
}

}  // namespace heddle::datapath
