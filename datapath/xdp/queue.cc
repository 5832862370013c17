// See queue.h.
#include "datapath/xdp/queue.h"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace heddle::datapath {

bool failed_at(XdpFailure& failure, const char* step) {
  failure = {step, errno};
  return false;
}

XdpQueue::XdpQueue(const FrameLayout& layout, uint32_t number)
    : layout_(layout), number_(number), sent_(layout.engines) {
  for (std::vector<uint64_t>& each : sent_) each.reserve(layout_.transmit_frames);
}

uint32_t XdpQueue::fill_entries() const { return std::bit_ceil(2 * layout_.all_receive_frames()); }

uint32_t XdpQueue::completion_entries() const {
  return std::bit_ceil(layout_.engines * layout_.transmit_frames);
}

bool XdpQueue::open(int socket, XdpFailure& failure) {
  const uint32_t in = fill_entries();
  const uint32_t out = completion_entries();
  if (setsockopt(socket, SOL_XDP, XDP_UMEM_FILL_RING, &in, sizeof in) != 0 ||
      setsockopt(socket, SOL_XDP, XDP_UMEM_COMPLETION_RING, &out, sizeof out) != 0) {
    return failed_at(failure, "rings of the XDP queue");
  }
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
    return failed_at(failure, "XDP_MMAP_OFFSETS");
  }
  RingPlace fill;
  RingPlace completion;
  mappings_.clear();
  const RingShape shapes[] = {{offsets.fr, in, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING},
                              {offsets.cr, out, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING}};
  mappings_.push_back(map_ring(socket, shapes[0], fill));
  mappings_.push_back(map_ring(socket, shapes[1], completion));
  for (const Mapping& each : mappings_) {
    if (each.start() == nullptr) return failed_at(failure, "mmap of a ring");
  }
  const OwnMutex::Lock lock = mutex_.lock();
  fill_ = WriteRing<uint64_t>(fill);
  completion_ = ReadRing<uint64_t>(completion);
  uint64_t address = number_ * layout_.queue_bytes();
  for (uint32_t i = 0; i < layout_.all_receive_frames(); ++i, address += layout_.frame_bytes) {
    fill_.write(address);
  }
  fill_.submit();
  return true;
}

void XdpQueue::give_back(ReadRing<XdpDescriptor>& received, uint32_t count) {
  const uint64_t frame_mask = ~uint64_t{layout_.frame_bytes - 1};
  const OwnMutex::Lock lock = mutex_.lock();
  CHECK(fill_.room() >= count || fill_.fresh_room() >= count);
  for (uint32_t i = 0; i < count; ++i) fill_.write(received.at(i).address & frame_mask);
  received.release(count);
  fill_.submit();
}

uint64_t XdpQueue::first_transmit_frame(uint8_t engine) const {
  const uint32_t before = layout_.all_receive_frames() + engine * layout_.transmit_frames;
  return number_ * layout_.queue_bytes() + uint64_t{before} * layout_.frame_bytes;
}

uint8_t XdpQueue::engine_of(uint64_t transmit_frame) const {
  const uint64_t bytes = uint64_t{layout_.transmit_frames} * layout_.frame_bytes;
  return static_cast<uint8_t>((transmit_frame - first_transmit_frame(0)) / bytes);
}

std::vector<uint64_t> XdpQueue::transmit_frames(uint8_t engine) const {
  std::vector<uint64_t> all;
  all.reserve(layout_.transmit_frames);
  uint64_t address = first_transmit_frame(engine);
  for (uint32_t i = 0; i < layout_.transmit_frames; ++i, address += layout_.frame_bytes) {
    all.push_back(address);
  }
  return all;
}

void XdpQueue::collect_sent(uint8_t engine, std::vector<uint64_t>& free) {
  const uint64_t frame_mask = ~uint64_t{layout_.frame_bytes - 1};
  const OwnMutex::Lock lock = mutex_.lock();
  for (uint32_t count = completion_.available(); count > 0; count = completion_.available()) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t frame = completion_.at(i) & frame_mask;
      sent_[engine_of(frame)].push_back(frame);
    }
    completion_.release(count);
  }
  free.insert(free.end(), sent_[engine].begin(), sent_[engine].end());
  sent_[engine].clear();
}

}  // namespace heddle::datapath
