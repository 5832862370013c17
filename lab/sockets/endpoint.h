// Endpoint of socket tests: an address in digits with a port, and the calls that both sides use.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::lab {

struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in four;
    sockaddr_in6 six{};
  };
  socklen_t bytes = 0;

  // Network order is done here.
  void set_port(uint16_t port);
};

// IPv4 or IPv6 in digits. Errors: kInvalid.
Result<SocketAddress> address_of(const std::string& text, uint16_t port);
// SOCK_STREAM or SOCK_DGRAM; invalid with errno.
Descriptor new_socket(const SocketAddress& address, int type);
// Connects until the other end listens, or `last_try`; with cubic as its congestion control where
// this kernel has it, else with the kernel's default. Errors: as socket_failure(what).
Result<Descriptor> connect_stream(const SocketAddress& to, const std::string& what, Nanos last_try);
// Of this end of a socket that is connected or bound.
Result<SocketAddress> own_address(const Descriptor& socket);
Result<SocketAddress> peer_address(const Descriptor& socket);

// kSystem, or kInUse, with the reason in errno.
Unexpected socket_failure(const std::string& what);

bool wait_for(const Descriptor& socket, short events, Nanos end);
// Until all is sent, or `end`.
bool send_text(const Descriptor& socket, const std::string& text, Nanos end);
// A line without its newline; nothing at the end of the stream, at `end`, or after 128 bytes.
bool read_line(const Descriptor& socket, std::string& line, Nanos end);

}  // namespace heddle::lab
