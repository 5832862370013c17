// See path_socket.h.
#include "datapath/udp/path_socket.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include <algorithm>

namespace heddle::datapath {

using transport::Address;

PathSocket::PathSocket(Socket socket, Family family, uint8_t traffic_class)
    : socket_(std::move(socket)), family_(family), traffic_class_(traffic_class) {
  if (traffic_class_ == 0) return;  // the kernel's default
  // A socket of both families takes both; one that refuses sends in the default class.
  static_cast<void>(set_mark(true, false));
  static_cast<void>(set_mark(false, false));
}

int PathSocket::mark(bool ecn_capable) const {
  return traffic_class_ | (ecn_capable ? IPTOS_ECN_ECT0 : 0);
}

bool PathSocket::set_mark(bool four, bool ecn_capable) {
  return four ? socket_.set(IPPROTO_IP, IP_TOS, mark(ecn_capable))
              : socket_.set(IPPROTO_IPV6, IPV6_TCLASS, mark(ecn_capable));
}

bool PathSocket::prepare(const Address& to, const Manner& manner, CallWords& words) {
  if ((to != peer_ || raw_.length == 0) && !turn_to(to)) return false;
  Protocol& protocol = four_ ? ipv4_ : ipv6_;
  if (protocol.may_fragment != manner.may_fragment) set_cutting(protocol, manner.may_fragment);
  words.destination = !connected_ && needs_destination();
  if (protocol.marked == manner.ecn_capable) {
    protocol.other_marks = 0;
    words.mark = false;
  } else {
    words.mark = needs_mark(protocol, manner.ecn_capable);
  }
  return true;
}

// A connected socket keeps its route and local address, which is correct for one peer only: the
// route to a second peer may use another interface. So the socket disconnects when the peer
// changes.
bool PathSocket::turn_to(const Address& to) {
  SocketAddress raw;
  if (!to_socket_address(to, family_, raw)) return false;
  if (connected_) {
    forget_peer();
    patience_ = std::min(2 * patience_, kMostPatience);
  }
  peer_ = to;
  raw_ = raw;
  four_ = is_ipv4(to);
  calls_to_peer_ = 0;
  return true;
}

// Connects after `patience_` consecutive calls to the same peer.
bool PathSocket::needs_destination() {
  if (++calls_to_peer_ < patience_) return true;
  calls_to_peer_ = 0;
  const auto* address = reinterpret_cast<const sockaddr*>(raw_.bytes.data());
  connected_ = connect(socket_.descriptor(), address, raw_.length) == 0;
  return !connected_;
}

// The port does not change: it was bound by its number.
void PathSocket::forget_peer() {
  calls_to_peer_ = 0;
  if (!connected_) return;
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  static_cast<void>(connect(socket_.descriptor(), &nobody, sizeof nobody));
  connected_ = false;
}

// IP_PMTUDISC_PROBE sets don't-fragment and ignores the kernel's cached path MTU: only the
// interface's MTU limits a datagram.
void PathSocket::set_cutting(Protocol& protocol, bool may_fragment) {
  if (four_) {
    socket_.set(IPPROTO_IP, IP_MTU_DISCOVER, may_fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE);
  } else {
    socket_.set(IPPROTO_IPV6, IPV6_MTU_DISCOVER,
                may_fragment ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE);
  }
  protocol.may_fragment = may_fragment;
}

bool PathSocket::needs_mark(Protocol& protocol, bool ecn_capable) {
  if (++protocol.other_marks < kMarkPatience) return true;
  protocol.other_marks = 0;
  const bool done = set_mark(four_, ecn_capable);
  if (done) protocol.marked = ecn_capable;
  return !done;
}

}  // namespace heddle::datapath
