// PacketPort: a device of this namespace whose frames are read from a ring that the kernel shares
// (packet(7), TPACKET_V2), each with the time at which it arrived, and on which frames are sent.
// The forwarder (forwarder.h) drives it.
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
  // `arrival` is of the system's clock (CLOCK_REALTIME).
  using Take = std::function<void(std::span<const uint8_t> frame, Nanos arrival)>;

  // `largest_frame` with its Ethernet header; `ring` is how much the kernel may hold before it is
  // read. Errors: kPermission, kSystem.
  static Result<PacketPort> open(const std::string& device, uint32_t largest_frame, Bytes ring);
  ~PacketPort();
  PacketPort(PacketPort&& other) noexcept;
  PacketPort& operator=(PacketPort&&) = delete;

  // Hands over what has arrived, at most `limit` frames; returns how many.
  size_t read(size_t limit, const Take& take);
  // Sends frames from the first on; returns how many are gone, and how many of them the device
  // refused. Fewer than all: no room now.
  struct Sent {
    size_t gone = 0;
    size_t refused = 0;
  };
  Sent send(std::span<const std::span<const uint8_t>> frames);

  int descriptor() const { return descriptor_.number(); }
  // A device that went down leaves an error on its socket, which poll() reports until it is read.
  void clear_error() const;
  // How many frames found the ring full since the last call.
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
