// Socket: one UDP socket, and how the two kinds that the datapath needs are set up.
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
  // False when the kernel refuses; errno says why.
  bool set(int level, int name, int value) const;
  // `fallback` when the kernel refuses.
  int get(int level, int name, int fallback) const;

 private:
  Descriptor descriptor_;
};

// Where the datapath is attached: the address that its sockets are bound to.
struct Attachment {
  Family family = Family::kIpv6;
  bool dual = false;         // a kIpv6 socket that speaks IPv4 too
  transport::Address local;  // its host may be "any"; its port is the receive port
};

// What the receive socket got.
struct ReceiveSocket {
  Socket socket;
  Attachment attachment;
  bool coalesces = false;     // GRO
  uint32_t buffer_bytes = 0;  // as the kernel counts, its own overhead included
};

// One for each NIC that the options name, all with one port; none is named: one for all addresses.
Result<std::vector<ReceiveSocket>> open_receive_sockets(const UdpOptions& options);

// A socket of a port of its own that only sends: what arrives at it is dropped by a filter, ICMP
// errors wait in its error queue.
Result<Socket> open_send_socket(const Attachment& attachment);

// The port that a socket is bound to.
uint16_t bound_port(int descriptor);

// Whether the kernel can cut a row into datagrams (Linux 4.18).
bool kernel_segments(const Socket& socket);

// The MTU towards `to` as the routing table and learned limits have it; 0 if there is no route.
uint32_t route_mtu(const transport::Address& to, Family family);

}  // namespace heddle::datapath
