// Socket: one UDP socket, and the setup of the datapath's receive and send sockets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "datapath/udp.h"
#include "datapath/udp/socket_address.h"
#include "transport/address.h"

namespace heddle::datapath {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_.number(); }
  // False if the kernel refuses; errno has the reason.
  bool set(int level, int name, int value) const;
  // `fallback` if the kernel refuses.
  int get(int level, int name, int fallback) const;

 private:
  Descriptor descriptor_;
};

// The address that the datapath's sockets are bound to.
struct Attachment {
  Family family = Family::kIpv6;
  bool dual = false;         // an IPv6 socket that also carries IPv4
  transport::Address local;  // its host may be a wildcard; its port is the receive port
};

// An open receive socket and the options that the kernel granted.
struct ReceiveSocket {
  Socket socket;
  Attachment attachment;
  bool coalesces = false;     // GRO
  uint32_t buffer_bytes = 0;  // as the kernel counts, its own overhead included
};

// Opens one socket per NIC in the options, all with the same port; without NICs, one for all
// addresses.
Result<std::vector<ReceiveSocket>> open_receive_sockets(const UdpOptions& options);

// Opens a further socket on the port of one that is open and has SO_REUSEPORT (shared_port.h).
Result<ReceiveSocket> open_sharing_socket(const Attachment& attachment, const UdpOptions& options);

// Opens a socket with its own port that only sends: a filter drops received data; ICMP errors go to
// its error queue.
Result<Socket> open_send_socket(const Attachment& attachment);

// The port that a socket is bound to.
uint16_t bound_port(int descriptor);

// True if the kernel supports UDP segmentation (GSO, Linux 4.18).
bool kernel_segments(const Socket& socket);

// The path MTU towards `to` from the routing table and the kernel's cache; 0 without a route.
uint32_t route_mtu(const transport::Address& to, Family family);

}  // namespace heddle::datapath
