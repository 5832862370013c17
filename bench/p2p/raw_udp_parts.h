// The parts of the raw UDP program: sockets, and the four loops of its two tests.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "bench/p2p/raw_udp.h"

namespace heddle::bench {

// The header before each segment's payload: 40 bytes, as heddle's own.
struct RawHeader {
  uint64_t offset = 0;  // of the payload in the receiver's memory
  uint64_t number = 0;
  uint64_t spare[3] = {};
};
static_assert(sizeof(RawHeader) == 40);

// Owns a descriptor.
class RawSocket {
 public:
  RawSocket() = default;
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {}
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&& other) noexcept;
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

Nanos raw_now();
uint64_t thread_cpu_nanos();
Unexpected system_failure(const std::string& what);

// TCP: the control connection. UDP: bound to a free port (0) or connected to the peer of `control`
// at `port`, with large buffers.
Result<RawSocket> listen_tcp(uint16_t port);
Result<RawSocket> accept_tcp(const RawSocket& listener);
Result<RawSocket> connect_tcp(const std::string& host, uint16_t port);
Result<RawSocket> open_udp_beside(const RawSocket& control, uint16_t& port);
Result<void> connect_udp_beside(const RawSocket& control, const RawSocket& udp, uint16_t port);
Result<void> write_all(const RawSocket& socket, const void* data, size_t bytes);
Result<void> read_all(const RawSocket& socket, void* data, size_t bytes);
// True when the peer has sent something, or has closed.
bool has_input(const RawSocket& socket);

// Sends for `request.seconds`. The socket is connected.
RawSent send_bandwidth(const RawSocket& udp, const RawRequest& request);
// Receives until the control connection reports that the sender is done, and the queue is empty.
RawReceived receive_bandwidth(const RawSocket& udp, const RawRequest& request,
                              const RawSocket& control);

// Errors: kSystem, where the kernel has or allows no io_uring and the request wants one.
Result<RawLatency> ping(const RawSocket& udp, const RawRequest& request);
Result<void> pong(const RawSocket& udp, const RawRequest& request, const RawSocket& control);

}  // namespace heddle::bench
