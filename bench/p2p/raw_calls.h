// The system calls of the raw UDP program's latency test: send and recv, sendmmsg and recvmmsg, or
// an io_uring.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/p2p/raw_udp_parts.h"

namespace heddle::bench {

// How long either end waits for a message before it looks for the test's end.
inline constexpr Nanos kPatience = millis(200);

// Sends and awaits messages over a connected socket. Both buffers belong to the caller, and are the
// same ones in each call.
class RawCalls {
 public:
  virtual ~RawCalls() = default;
  virtual bool send(const std::vector<std::byte>& message) = 0;
  // Returns false if nothing arrives within kPatience.
  virtual bool await(std::vector<std::byte>& buffer) = 0;
};

// Of the kind that the request asks for. Errors: kSystem, where the kernel has or allows no
// io_uring.
Result<std::unique_ptr<RawCalls>> open_calls(const RawSocket& udp, const RawRequest& request);

// An io_uring on the socket, as fast as one is: a fixed file, one submission for the message and
// the next receive, task work only when asked for.
Result<std::unique_ptr<RawCalls>> open_ring(const RawSocket& udp, bool sleep);

}  // namespace heddle::bench
