// ControlLine: a TCP connection between two hosts, on which the ends of a test send lines to each
// other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::lab {

class ControlLine {
 public:
  // Listens on an IPv4 or IPv6 address until the client connects, or `end`; connections from other
  // addresses are closed. Errors: kInvalid, kInUse, kTimeout, kSystem.
  static Result<ControlLine> accept(const std::string& address, uint16_t port,
                                    const std::string& client, Nanos end);
  // From this address of this host; repeatedly until the other end listens, or `end`. Errors:
  // kInvalid, kInUse, kTimeout, kSystem.
  static Result<ControlLine> connect(const std::string& own, const std::string& address,
                                     uint16_t port, Nanos end);

  // Without its newline, at most 127 letters; false: the other end is gone, or `end` came.
  bool send(const std::string& line, Nanos end) const;
  bool read(std::string& line, Nanos end) const;
  // Whether a line waits, or the other end is gone.
  bool waits() const;
  // Readable then.
  int descriptor() const { return socket_.number(); }

 private:
  explicit ControlLine(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace heddle::lab
