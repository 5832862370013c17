// PathSocket: one send socket and what it is set to. A call that says nothing of destination and
// marks is the cheapest, so a socket that sends the same way for a while is connected and marked;
// what differs is said in the call. Sender drives it.
#pragma once

#include <cstdint>
#include <utility>

#include "datapath/udp/socket.h"
#include "transport/address.h"

namespace heddle::datapath {

// How a burst is to leave.
struct Manner {
  bool may_fragment = false;
  bool ecn_capable = false;
};

// What the call that sends it has to say.
struct CallWords {
  bool destination = true;
  bool mark = false;
};

class PathSocket {
 public:
  PathSocket(Socket socket, Family family) : socket_(std::move(socket)), family_(family) {}

  // Makes the socket ready for a burst to `to`; false: this socket cannot speak to that address.
  bool prepare(const transport::Address& to, const Manner& manner, CallWords& words);
  // After an error: the next calls name their destination, so that the route is looked up anew.
  void forget_peer();

  // The latest destination.
  const SocketAddress& destination() const { return raw_; }
  bool destination_is_ipv4() const { return four_; }

  int descriptor() const { return socket_.descriptor(); }
  bool connected() const { return connected_; }

 private:
  // So many calls the same way make it the socket's own way. Each change of peers doubles the
  // first.
  static constexpr uint32_t kFirstPatience = 32;
  static constexpr uint32_t kMostPatience = 1u << 20;
  static constexpr uint32_t kMarkPatience = 32;

  // What the kernel keeps for each protocol.
  struct Protocol {
    bool may_fragment = false;
    bool marked = false;
    uint32_t other_marks = 0;  // calls in a row that wanted it otherwise
  };

  void set_cutting(Protocol& protocol, bool may_fragment);
  bool needs_mark(Protocol& protocol, bool ecn_capable);
  bool needs_destination();
  bool turn_to(const transport::Address& to);

  Socket socket_;
  Family family_;
  Protocol ipv4_;
  Protocol ipv6_;
  transport::Address peer_;  // of the latest call
  SocketAddress raw_;        // the same for the kernel; empty before the first call
  bool four_ = false;        // the same speaks IPv4
  uint32_t calls_to_peer_ = 0;
  uint32_t patience_ = kFirstPatience;
  bool connected_ = false;  // to peer_
};

}  // namespace heddle::datapath
