// See socket.h.
#include "datapath/xdp/socket.h"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

namespace {

constexpr uint16_t kUseMultiBuffer = 1 << 4;  // XDP_USE_SG, Linux 6.6
constexpr int kMaxTransmitBudget = 9;         // XDP_MAX_TX_SKB_BUDGET, Linux 6.17
constexpr int kPreferBusyPoll = 69;           // SO_PREFER_BUSY_POLL, Linux 5.11
constexpr int kBusyPollBudgetOption = 70;     // SO_BUSY_POLL_BUDGET

static_assert(sizeof(XdpDescriptor) == sizeof(xdp_desc));
static_assert(offsetof(XdpDescriptor, options) == offsetof(xdp_desc, options));

bool set(int socket, int name, const void* value, size_t bytes) {
  return setsockopt(socket, SOL_XDP, name, value, static_cast<socklen_t>(bytes)) == 0;
}

bool failed(XdpFailure& failure, const char* step) {
  failure = {step, errno};
  return false;
}

}  // namespace

std::unique_ptr<XdpSocket> XdpSocket::open(const XdpSocketOptions& options,
                                           const FrameLayout& layout, std::span<std::byte> memory,
                                           XdpFailure& failure) {
  std::unique_ptr<XdpSocket> made(new XdpSocket(options, layout, memory));
  if (!made->socket_.valid()) {
    failed(failure, "socket(AF_XDP)");
    return nullptr;
  }
  if (!made->make_rings(failure) || !made->map_rings(failure)) return nullptr;
  made->fill_all();
  made->configure();
  if (!made->bind_to_queue(failure)) return nullptr;
  return made;
}

XdpSocket::XdpSocket(const XdpSocketOptions& options, const FrameLayout& layout,
                     std::span<std::byte> memory)
    : options_(options),
      layout_(layout),
      memory_(memory),
      socket_(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)) {}

bool XdpSocket::make_rings(XdpFailure& failure) {
  const int socket = socket_.number();
  if (options_.first_socket < 0) {
    xdp_umem_reg region;
    std::memset(&region, 0, sizeof region);  // newer kernels read more of it
    region.addr = reinterpret_cast<uintptr_t>(memory_.data());
    region.len = memory_.size();
    region.chunk_size = layout_.frame_bytes;
    if (!set(socket, XDP_UMEM_REG, &region, sizeof region)) return failed(failure, "XDP_UMEM_REG");
  }
  const uint32_t in = layout_.receive_frames;
  const uint32_t out = layout_.transmit_frames;
  const uint32_t fill = fill_entries();
  const bool done = set(socket, XDP_UMEM_FILL_RING, &fill, sizeof fill) &&
                    set(socket, XDP_UMEM_COMPLETION_RING, &out, sizeof out) &&
                    set(socket, XDP_RX_RING, &in, sizeof in) &&
                    set(socket, XDP_TX_RING, &out, sizeof out);
  return done || failed(failure, "rings of the XDP socket");
}

bool XdpSocket::map_rings(XdpFailure& failure) {
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (getsockopt(socket_.number(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return failed(failure, "XDP_MMAP_OFFSETS");
  }
  const auto map = [&](const xdp_ring_offset& parts, uint32_t size, size_t entry_bytes,
                       uint64_t page, RingPlace& place) {
    Mapping mapping =
        Mapping::ring(socket_.number(), parts.desc + size_t{size} * entry_bytes, page);
    if (mapping.start() == nullptr) return failed(failure, "mmap of a ring");
    place.producer = reinterpret_cast<uint32_t*>(mapping.start() + parts.producer);
    place.consumer = reinterpret_cast<uint32_t*>(mapping.start() + parts.consumer);
    place.flags = reinterpret_cast<uint32_t*>(mapping.start() + parts.flags);
    place.entries = mapping.start() + parts.desc;
    place.size = size;
    mappings_.push_back(std::move(mapping));
    return true;
  };
  RingPlace fill;
  RingPlace completion;
  RingPlace receive;
  RingPlace transmit;
  const uint32_t in = layout_.receive_frames;
  const uint32_t out = layout_.transmit_frames;
  if (!map(offsets.fr, fill_entries(), sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING, fill) ||
      !map(offsets.cr, out, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING, completion) ||
      !map(offsets.rx, in, sizeof(XdpDescriptor), XDP_PGOFF_RX_RING, receive) ||
      !map(offsets.tx, out, sizeof(XdpDescriptor), XDP_PGOFF_TX_RING, transmit)) {
    return false;
  }
  fill_ = WriteRing<uint64_t>(fill);
  completion_ = ReadRing<uint64_t>(completion);
  receive_ = ReadRing<XdpDescriptor>(receive);
  transmit_ = WriteRing<XdpDescriptor>(transmit);
  return true;
}

void XdpSocket::fill_all() {
  uint64_t address = size_t{options_.queue} * layout_.queue_bytes();
  for (uint32_t i = 0; i < layout_.receive_frames; ++i, address += layout_.frame_bytes) {
    fill_.write(address);
  }
  fill_.submit();
  free_.reserve(layout_.transmit_frames);
  for (uint32_t i = 0; i < layout_.transmit_frames; ++i, address += layout_.frame_bytes) {
    free_.push_back(address);
  }
}

// All optional: older kernels work without, more slowly.
void XdpSocket::configure() const {
  const int socket = socket_.number();
  set(socket, kMaxTransmitBudget, &xdp_params::kTransmitBudget, sizeof xdp_params::kTransmitBudget);
  if (options_.busy_poll_us == 0) return;
  const int one = 1;
  const auto span = static_cast<int>(options_.busy_poll_us);
  setsockopt(socket, SOL_SOCKET, kPreferBusyPoll, &one, sizeof one);
  setsockopt(socket, SOL_SOCKET, SO_BUSY_POLL, &span, sizeof span);
  setsockopt(socket, SOL_SOCKET, kBusyPollBudgetOption, &xdp_params::kBusyPollBudget,
             sizeof xdp_params::kBusyPollBudget);
}

bool XdpSocket::bind_to_queue(XdpFailure& failure) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = options_.interface;
  address.sxdp_queue_id = options_.queue;
  if (options_.first_socket >= 0) {  // the mode is the first socket's
    address.sxdp_flags = XDP_SHARED_UMEM;
    address.sxdp_shared_umem_fd = static_cast<uint32_t>(options_.first_socket);
  } else {
    address.sxdp_flags =
        static_cast<uint16_t>(XDP_USE_NEED_WAKEUP | (options_.zero_copy ? XDP_ZEROCOPY : XDP_COPY) |
                              (options_.multi_buffer ? kUseMultiBuffer : 0));
  }
  if (bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed(failure, "bind of the XDP socket");
  }
  xdp_options options{};
  socklen_t length = sizeof options;
  getsockopt(socket_.number(), SOL_XDP, XDP_OPTIONS, &options, &length);
  zero_copy_ = (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  return true;
}

void XdpSocket::give_back(uint32_t count) {
  const uint64_t frame_mask = ~uint64_t{layout_.frame_bytes - 1};
  CHECK(fill_.room() >= count || fill_.fresh_room() >= count);
  for (uint32_t i = 0; i < count; ++i) fill_.write(receive_.at(i).address & frame_mask);
  receive_.release(count);
  fill_.submit();
}

void XdpSocket::poll_driver() const {
  recvfrom(socket_.number(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

uint64_t XdpSocket::dropped() const {
  xdp_statistics statistics{};
  socklen_t length = sizeof statistics;
  const int done = getsockopt(socket_.number(), SOL_XDP, XDP_STATISTICS, &statistics, &length);
  return done == 0 ? statistics.rx_dropped + statistics.rx_ring_full : 0;
}

bool XdpSocket::has_room(uint32_t frames) {
  if (free_.size() < frames) collect_completed();
  return free_.size() >= frames && (transmit_.room() >= frames || transmit_.fresh_room() >= frames);
}

void XdpSocket::collect_completed() {
  const uint64_t frame_mask = ~uint64_t{layout_.frame_bytes - 1};
  for (uint32_t count = completion_.available(); count > 0; count = completion_.available()) {
    for (uint32_t i = 0; i < count; ++i) free_.push_back(completion_.at(i) & frame_mask);
    completion_.release(count);
  }
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
  if (zero_copy_) {
    if (!transmit_.needs_wakeup()) return 0;
    ++calls;
    const ssize_t done = sendto(socket_.number(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    const bool wait = done < 0 && (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS);
    return done >= 0 || wait ? 0 : errno;
  }
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

}  // namespace heddle::datapath
