// Socket streams: TCP connections of plain sockets from many hosts to many, all at once, to compare
// a load with. A host has one process that receives and one that sends.
//
// The receiver waits for all of its connections, then sends a byte on each; a sender begins when it
// has that of all its receivers. So no connection has the links for itself at the begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::lab {

// Listens on an IPv4 or IPv6 address and receives `count` connections until all have ended, or for
// `limit`: payload in bits/s of each, over the time from the first byte of any to the last of any.
// Errors: kInvalid, kInUse, kTimeout where not all came, kSystem.
Result<std::vector<double>> receive_streams(const std::string& address, uint16_t port, size_t count,
                                            Nanos limit);

// Connects to all of these, repeatedly until they listen, and sends as much as it can to each for
// `span`, with cubic as run_socket_tests(). What is not sent then is dropped. Errors: kInvalid,
// kTimeout where a receiver does not let it begin within `limit`, kSystem.
Result<void> send_streams(const std::vector<std::string>& addresses, uint16_t port, Nanos span,
                          Nanos limit);

}  // namespace heddle::lab
