// PathSocket: one send socket and its kernel settings. A call without destination and ECN mark is
// the cheapest, so a socket that repeats the same destination and mark is connected and marked;
// calls that differ carry their own. Sender drives it.
#pragma once

#include <cstdint>
#include <utility>

#include "datapath/udp/params.h"
#include "datapath/udp/socket.h"
#include "transport/address.h"

namespace heddle::datapath {

// Fragmentation and ECN settings of a burst.
struct Manner {
  bool may_fragment = false;
  bool ecn_capable = false;
};

// The ancillary fields that the send call must carry.
struct CallWords {
  bool destination = true;
  bool mark = false;
};

class PathSocket {
 public:
  // `traffic_class`: of all packets, without the two bits of ECN.
  PathSocket(Socket socket, Family family, uint8_t traffic_class);

  // Prepares the socket for a burst to `to`; false: its address family cannot reach that address.
  bool prepare(const transport::Address& to, const Manner& manner, CallWords& words);
  // After an error: the next calls carry their destination, so that the kernel looks up the route
  // again.
  void forget_peer();

  // The latest destination.
  const SocketAddress& destination() const { return raw_; }
  bool destination_is_ipv4() const { return four_; }

  // The IP traffic class byte of a packet: DSCP and ECN.
  int mark(bool ecn_capable) const;

  int descriptor() const { return socket_.descriptor(); }
  bool connected() const { return connected_; }

 private:
  // Consecutive equal calls before the setting moves to the socket. For destinations the value
  // doubles at every disconnect, up to kMostPatience.
  static constexpr uint32_t kFirstPatience = udp_params::kFirstPatience;
  static constexpr uint32_t kMostPatience = udp_params::kMostPatience;
  static constexpr uint32_t kMarkPatience = udp_params::kMarkPatience;

  // Settings that the kernel keeps per protocol.
  struct Protocol {
    bool may_fragment = false;
    bool marked = false;
    uint32_t other_marks = 0;  // consecutive calls with the other mark
  };

  void set_cutting(Protocol& protocol, bool may_fragment);
  bool needs_mark(Protocol& protocol, bool ecn_capable);
  bool set_mark(bool four, bool ecn_capable);
  bool needs_destination();
  bool turn_to(const transport::Address& to);

  Socket socket_;
  Family family_;
  uint8_t traffic_class_;
  Protocol ipv4_;
  Protocol ipv6_;
  transport::Address peer_;  // of the latest call
  SocketAddress raw_;        // the same as sockaddr; empty before the first call
  bool four_ = false;        // true: that address is IPv4
  uint32_t calls_to_peer_ = 0;
  uint32_t patience_ = kFirstPatience;
  bool connected_ = false;  // to peer_
};

}  // namespace heddle::datapath
