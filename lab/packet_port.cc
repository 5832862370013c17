// See packet_port.h.
#include "lab/packet_port.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lab/params.h"

namespace heddle::lab {
namespace {

constexpr size_t kSlotHead = 128;  // tpacket2_hdr, sockaddr_ll, alignment: at most 52 + 16 + 16

size_t power_above(size_t bytes) {
  size_t power = params::kLeastBlock;
  while (power < bytes) power *= 2;
  return power;
}

Unexpected refused(const std::string& device) {
  const int reason = errno;
  return fail(reason == EPERM ? ErrorCode::kPermission : ErrorCode::kSystem,
              "cannot read packets of " + device, std::strerror(reason),
              "a delayed link needs packet sockets (CONFIG_PACKET, CAP_NET_RAW)");
}

bool set(int descriptor, int name, int value) {
  return setsockopt(descriptor, SOL_PACKET, name, &value, sizeof value) == 0;
}

}  // namespace

Result<PacketPort> PacketPort::open(const std::string& device, uint32_t largest_frame, Bytes ring) {
  PacketPort port;
  port.descriptor_ = Descriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int descriptor = port.descriptor();
  if (descriptor < 0) return refused(device);
  if (!set(descriptor, PACKET_VERSION, TPACKET_V2) || !set(descriptor, PACKET_IGNORE_OUTGOING, 1)) {
    return refused(device);
  }
  if (Result<void> made = port.make_ring(largest_frame, ring); !made) return refused(device);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  if (address.sll_ifindex == 0 ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return refused(device);
  }
  return port;
}

PacketPort::~PacketPort() {
  if (ring_ != nullptr) munmap(ring_, block_bytes_ * blocks_);
}

PacketPort::PacketPort(PacketPort&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      ring_(std::exchange(other.ring_, nullptr)),
      block_bytes_(other.block_bytes_),
      blocks_(other.blocks_),
      slot_bytes_(other.slot_bytes_),
      slots_(other.slots_),
      next_(other.next_) {}

Result<void> PacketPort::make_ring(uint32_t largest_frame, Bytes ring) {
  slot_bytes_ = TPACKET_ALIGN(largest_frame + kSlotHead);
  block_bytes_ = power_above(slot_bytes_);
  const size_t in_block = block_bytes_ / slot_bytes_;
  const size_t wanted = std::max<size_t>(params::kLeastSlots, ring.count / slot_bytes_);
  blocks_ = (wanted + in_block - 1) / in_block;
  slots_ = blocks_ * in_block;
  tpacket_req request{};
  request.tp_block_size = static_cast<unsigned>(block_bytes_);
  request.tp_block_nr = static_cast<unsigned>(blocks_);
  request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
  request.tp_frame_nr = static_cast<unsigned>(slots_);
  if (setsockopt(descriptor(), SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
    return fail(ErrorCode::kSystem, "", "");
  }
  void* const at =
      mmap(nullptr, block_bytes_ * blocks_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor(), 0);
  if (at == MAP_FAILED) return fail(ErrorCode::kSystem, "", "");
  ring_ = static_cast<uint8_t*>(at);
  return {};
}

uint8_t* PacketPort::slot(size_t number) const {
  const size_t in_block = block_bytes_ / slot_bytes_;
  return ring_ + number / in_block * block_bytes_ + number % in_block * slot_bytes_;
}

size_t PacketPort::read(size_t limit, const Take& take) {
  size_t count = 0;
  for (; count < limit; ++count) {
    uint8_t* const at = slot(next_);
    auto* const header = reinterpret_cast<tpacket2_hdr*>(at);
    const std::atomic_ref<uint32_t> status(header->tp_status);
    if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) return count;
    const Nanos arrival = seconds(header->tp_sec) + nanos(header->tp_nsec);
    // The captured length; it is shorter than the packet's own only if the packet exceeded a slot.
    const size_t bytes = header->tp_len == header->tp_snaplen ? header->tp_snaplen : UINT32_MAX;
    take({at + header->tp_mac, bytes}, arrival);
    status.store(TP_STATUS_KERNEL, std::memory_order_release);
    next_ = next_ + 1 == slots_ ? 0 : next_ + 1;
  }
  return count;
}

PacketPort::Sent PacketPort::send(std::span<const std::span<const uint8_t>> frames) {
  Sent sent;
  while (sent.gone < frames.size()) {
    std::array<mmsghdr, params::kSendBatch> messages{};
    std::array<iovec, params::kSendBatch> parts{};
    const size_t count = std::min(params::kSendBatch, frames.size() - sent.gone);
    for (size_t i = 0; i < count; ++i) {
      const std::span<const uint8_t> frame = frames[sent.gone + i];
      parts[i] = {const_cast<uint8_t*>(frame.data()), frame.size()};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int done =
        sendmmsg(descriptor(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (done > 0) {
      sent.gone += static_cast<size_t>(done);
    } else if (errno == EAGAIN || errno == EINTR) {
      return sent;
    } else {  // the device is down or its receiver's queue is full: dropped, as on a cable
      ++sent.gone;
      ++sent.refused;
    }
  }
  return sent;
}

void PacketPort::clear_error() const {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
}

uint64_t PacketPort::take_overrun() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  if (getsockopt(descriptor(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) return 0;
  return stats.tp_drops;
}

}  // namespace heddle::lab
