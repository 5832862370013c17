// XdpQueue: one receive queue of an interface as its XDP sockets share it, one per engine: its
// frames, and the two rings by which frames pass between the kernel and user memory. Each engine
// has a quota of the frames, so that none keeps those of another. XdpAttachment owns it; the
// sockets of all engines call it, each from its own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "datapath/xdp/mapping.h"
#include "datapath/xdp/rings.h"

namespace heddle::datapath {

// Frames of a NIC: for each queue first those for receiving, then each engine's for sending.
struct FrameLayout {
  uint32_t frame_bytes = 2048;   // 2,048 or 4,096
  uint32_t receive_frames = 0;   // per queue and engine, a power of two
  uint32_t transmit_frames = 0;  // likewise
  uint8_t engines = 1;

  uint32_t all_receive_frames() const { return engines * receive_frames; }
  size_t queue_bytes() const {
    return size_t{engines} * (receive_frames + transmit_frames) * frame_bytes;
  }
};

// What a step of opening failed with.
struct XdpFailure {
  std::string step;
  int error = 0;
};

// Remembers errno; returns false.
bool failed_at(XdpFailure& failure, const char* step);

class XdpQueue {
 public:
  XdpQueue(const FrameLayout& layout, uint32_t number);

  uint32_t number() const { return number_; }
  const FrameLayout& layout() const { return layout_; }

  // Makes the rings at `socket`, the first one bound to the queue, and hands over all frames for
  // receiving.
  bool open(int socket, XdpFailure& failure);

  // Returns the frames of the first `count` entries to the kernel, in their order.
  void give_back(ReadRing<XdpDescriptor>& received, uint32_t count);
  bool receive_needs_wakeup() const { return fill_.needs_wakeup(); }

  // The addresses of this engine's frames for sending: all of them.
  std::vector<uint64_t> transmit_frames(uint8_t engine) const;
  // Moves this engine's frames that were sent to `free`.
  void collect_sent(uint8_t engine, std::vector<uint64_t>& free);

 private:
  // The kernel shows received frames before it frees their entries of the fill ring, so that ring
  // must hold every frame twice.
  uint32_t fill_entries() const;
  uint32_t completion_entries() const;
  uint64_t first_transmit_frame(uint8_t engine) const;
  uint8_t engine_of(uint64_t transmit_frame) const;

  const FrameLayout layout_;
  const uint32_t number_;
  std::vector<Mapping> mappings_;
  OwnMutex mutex_;  // of all that follows
  WriteRing<uint64_t> fill_;
  ReadRing<uint64_t> completion_;
  std::vector<std::vector<uint64_t>> sent_;  // by engine: frames that another one's call took back
};

}  // namespace heddle::datapath
