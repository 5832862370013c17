// PacketPort: a device of this namespace. Frames are read, each with its arrival time, from a ring
// shared with the kernel (packet(7), TPACKET_V2), and sent on the same socket. The forwarder
// (forwarder.h) drives it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle::lab {

class PacketPort {
 public:
  // `arrival` is by the system's clock (CLOCK_REALTIME).
  using Take = std::function<void(std::span<const uint8_t> frame, Nanos arrival)>;

  // `largest_frame` includes the Ethernet header; `ring` is the size of the kernel's receive ring.
  // Errors: kPermission, kSystem.
  static Result<PacketPort> open(const std::string& device, uint32_t largest_frame, Bytes ring);
  ~PacketPort();
  PacketPort(PacketPort&& other) noexcept;
  PacketPort& operator=(PacketPort&&) = delete;

  // Passes arrived frames to `take`, at most `limit`; returns their number.
  size_t read(size_t limit, const Take& take);
  // Sends frames in order; returns how many were processed, and how many of those the device
  // refused. Fewer than all: the device's queue is full.
  struct Sent {
    size_t gone = 0;
    size_t refused = 0;
  };
  Sent send(std::span<const std::span<const uint8_t>> frames);

  int descriptor() const { return descriptor_.number(); }
  // Clears the socket error of a device that went down; poll() reports it until it is read.
  void clear_error() const;
  // The number of frames dropped by a full ring since the last call.
  uint64_t take_overrun();

 private:
  PacketPort() = default;
  Result<void> make_ring(uint32_t largest_frame, Bytes ring);
  uint8_t* slot(size_t number) const;

  Descriptor descriptor_;
  uint8_t* ring_ = nullptr;
  size_t block_bytes_ = 0;
  size_t blocks_ = 0;
  size_t slot_bytes_ = 0;
  size_t slots_ = 0;
  size_t next_ = 0;
};

}  // namespace heddle::lab
