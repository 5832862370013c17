// TCP flow: one connection of the kernel's TCP that sends as fast as it can, to compare with. Each
// end is a function to be called in a child process on a host of a lab (or anywhere else).
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle::lab {

struct TcpFigures {
  Bytes received;
  Nanos span;  // from the first byte to the end
};

// Listens on an IPv4 or IPv6 address and takes one connection, until its end or for `limit`.
// Errors: kInvalid, kInUse, kTimeout if none comes, kSystem.
Result<TcpFigures> receive_tcp(const std::string& address, uint16_t port, Nanos limit);

// Connects, repeatedly until the other end listens, and sends for `span`. The flow has cubic as its
// congestion control where the kernel has it: other kernels' defaults differ. Errors: kTimeout,
// kSystem.
Result<void> send_tcp(const std::string& address, uint16_t port, Nanos span);

}  // namespace heddle::lab
