// See netlink.h.
#include "datapath/xdp/netlink.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/check.h"
#include "datapath/udp/socket_address.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::Address;

namespace {

// Neighbor states whose MAC address the kernel itself sends to.
constexpr uint16_t kUsable =
    NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP | NUD_STALE | NUD_DELAY | NUD_PROBE;

// The attributes of a message, by number; later ones win.
class Attributes {
 public:
  Attributes(const std::byte* start, size_t bytes) : start_(start), bytes_(bytes) {}

  // The content of attribute `type`; empty span with null data: it is not there.
  std::span<const std::byte> find(uint16_t type) const {
    const std::byte* at = start_;
    size_t left = bytes_;
    while (left >= sizeof(rtattr)) {
      rtattr header;
      std::memcpy(&header, at, sizeof header);
      if (header.rta_len < sizeof header || header.rta_len > left) break;
      if ((header.rta_type & NLA_TYPE_MASK) == type) {
        return {at + sizeof header, header.rta_len - sizeof header};
      }
      const size_t step = std::min<size_t>(RTA_ALIGN(header.rta_len), left);
      at += step;
      left -= step;
    }
    return {};
  }
  bool has(uint16_t type) const { return find(type).data() != nullptr; }
  template <typename Number>
  Number number(uint16_t type, Number fallback) const {
    const auto content = find(type);
    if (content.size() < sizeof(Number)) return fallback;
    Number value;
    std::memcpy(&value, content.data(), sizeof value);
    return value;
  }
  std::string text(uint16_t type) const {
    const auto content = find(type);
    const auto* chars = reinterpret_cast<const char*>(content.data());
    return content.empty() ? std::string() : std::string(chars, strnlen(chars, content.size()));
  }
  Attributes inside(uint16_t type) const {
    const auto content = find(type);
    return {content.data(), content.size()};
  }

 private:
  const std::byte* start_;
  size_t bytes_;
};

Address address_of(std::span<const std::byte> raw) {
  if (raw.size() == 4) {
    Address address = any_address(Family::kIpv4, 0);
    std::memcpy(address.host.data() + 12, raw.data(), 4);
    return address;
  }
  Address address;
  if (raw.size() == 16) std::memcpy(address.host.data(), raw.data(), 16);
  return address;
}

MacAddress mac_of(std::span<const std::byte> raw) {
  MacAddress mac{};
  if (raw.size() == mac.size()) std::memcpy(mac.data(), raw.data(), mac.size());
  return mac;
}

// The body of a reply and its attributes.
template <typename Body>
Attributes read_body(const std::vector<std::byte>& reply, size_t bytes, Body& body) {
  const size_t head = NLMSG_ALIGN(sizeof(nlmsghdr));
  if (bytes < head + sizeof body) return {nullptr, 0};
  std::memcpy(&body, reply.data() + head, sizeof body);
  const size_t at = head + NLMSG_ALIGN(sizeof body);
  return {reply.data() + at, bytes > at ? bytes - at : 0};
}

}  // namespace

// A message to the kernel.
class Netlink::Request {
 public:
  template <typename Body>
  Request(uint16_t type, const Body& body) {
    header_.nlmsg_type = type;
    header_.nlmsg_flags = NLM_F_REQUEST;
    std::memcpy(bytes_.data() + used_, &body, sizeof body);
    used_ += NLMSG_ALIGN(sizeof body);
  }

  void add(uint16_t type, const void* content, size_t bytes) {
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<uint16_t>(RTA_LENGTH(bytes));
    CHECK(used_ + RTA_ALIGN(attribute.rta_len) <= bytes_.size());
    std::memcpy(bytes_.data() + used_, &attribute, sizeof attribute);
    std::memcpy(bytes_.data() + used_ + RTA_LENGTH(0), content, bytes);
    used_ += RTA_ALIGN(attribute.rta_len);
  }
  // Four bytes for IPv4, else sixteen.
  void add(uint16_t type, const Address& address) {
    const size_t skip = is_ipv4(address) ? 12 : 0;
    add(type, address.host.data() + skip, address.host.size() - skip);
  }

  std::span<const std::byte> finish(uint32_t number) {
    header_.nlmsg_len = static_cast<uint32_t>(used_);
    header_.nlmsg_seq = number;
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return {bytes_.data(), used_};
  }

 private:
  nlmsghdr header_{};
  alignas(NLMSG_ALIGNTO) std::array<std::byte, 512> bytes_{};
  size_t used_ = NLMSG_ALIGN(sizeof(nlmsghdr));
};

Result<void> Netlink::open() {
  const int flags = SOCK_RAW | SOCK_CLOEXEC;
  requests_ = Descriptor(socket(AF_NETLINK, flags, NETLINK_ROUTE));
  notifications_ = Descriptor(socket(AF_NETLINK, flags | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE |
                     RTMGRP_IPV4_RULE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;
  const bool done =
      requests_.valid() && notifications_.valid() &&
      bind(notifications_.number(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) == 0;
  if (!done) {
    const bool many = errno == EMFILE || errno == ENFILE;
    return fail(many ? ErrorCode::kExhausted : ErrorCode::kSystem,
                "cannot read the kernel's routes (rtnetlink)", std::strerror(errno),
                many ? "raise the limit of open files (`ulimit -n`)" : "");
  }
  reply_.resize(xdp_params::kReplyBytes);
  return {};
}

// Sends the request and reads one reply. False: an error.
bool Netlink::ask(Request& request) const {
  const auto message = request.finish(++number_);
  if (send(requests_.number(), message.data(), message.size(), 0) < 0) return false;
  // The kernel has answered when send() returns; earlier answers that were not read are skipped.
  for (int i = 0; i < 16; ++i) {
    const ssize_t got = recv(requests_.number(), reply_.data(), reply_.size(), MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return false;
    nlmsghdr header;
    std::memcpy(&header, reply_.data(), sizeof header);
    if (header.nlmsg_seq != number_) continue;
    if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_len > static_cast<size_t>(got)) {
      return false;
    }
    reply_bytes_ = header.nlmsg_len;
    return true;
  }
  return false;
}

std::optional<LinkFacts> Netlink::link(uint32_t index) const {
  ifinfomsg body{};
  body.ifi_index = static_cast<int>(index);
  Request request(RTM_GETLINK, body);
  if (!ask(request)) return {};
  const Attributes found = read_body(reply_, reply_bytes_, body);
  LinkFacts link;
  link.name = found.text(IFLA_IFNAME);
  link.index = index;
  link.up = (body.ifi_flags & IFF_UP) != 0;
  link.ethernet = body.ifi_type == ARPHRD_ETHER;
  link.mac = mac_of(found.find(IFLA_ADDRESS));
  link.mtu_bytes = found.number<uint32_t>(IFLA_MTU, 0);
  link.receive_queues = found.number<uint32_t>(IFLA_NUM_RX_QUEUES, 1);
  link.transmit_queues = found.number<uint32_t>(IFLA_NUM_TX_QUEUES, 1);
  const Attributes kind = found.inside(IFLA_LINKINFO);
  if (kind.text(IFLA_INFO_KIND) == "vlan") {
    link.lower = found.number<uint32_t>(IFLA_LINK, 0);
    const Attributes vlan = kind.inside(IFLA_INFO_DATA);
    link.tag.id = vlan.number<uint16_t>(IFLA_VLAN_ID, 0);
    link.tag.protocol = ntohs(vlan.number<uint16_t>(IFLA_VLAN_PROTOCOL, htons(0x8100)));
  }
  link.program = found.inside(IFLA_XDP).number<uint32_t>(IFLA_XDP_PROG_ID, 0);
  return link;
}

std::optional<RouteFacts> Netlink::route(const Address& from, const Address& to,
                                         uint8_t traffic_class) const {
  const bool four = is_ipv4(to);
  rtmsg body{};
  body.rtm_family = four ? AF_INET : AF_INET6;
  body.rtm_dst_len = four ? 32 : 128;
  body.rtm_tos = four ? traffic_class : 0;
  const auto prepare = [&](Request& request) {
    request.add(RTA_DST, to);
    if (!is_any(from)) request.add(RTA_SRC, from);
    if (to.scope != 0) request.add(RTA_OIF, &to.scope, sizeof to.scope);
  };
  if (!is_any(from)) body.rtm_src_len = four ? 32 : 128;
  Request request(RTM_GETROUTE, body);
  prepare(request);
  if (!ask(request)) return {};
  rtmsg got{};
  const Attributes found = read_body(reply_, reply_bytes_, got);
  RouteFacts route;
  route.unicast = got.rtm_type == RTN_UNICAST && !found.has(RTA_ENCAP);
  route.interface = found.number<uint32_t>(RTA_OIF, 0);
  route.next = found.has(RTA_GATEWAY) ? address_of(found.find(RTA_GATEWAY)) : to;
  if (const auto via = found.find(RTA_VIA); via.size() > sizeof(uint16_t)) {
    route.next = address_of(via.subspan(sizeof(uint16_t)));  // behind the family
  }
  route.from = found.has(RTA_PREFSRC) ? address_of(found.find(RTA_PREFSRC)) : from;
  // The same question again: the entry of the table instead of the choice.
  body.rtm_flags = RTM_F_FIB_MATCH;
  Request entry(RTM_GETROUTE, body);
  prepare(entry);
  if (ask(entry)) route.one_next_hop = !read_body(reply_, reply_bytes_, got).has(RTA_MULTIPATH);
  return route;
}

NeighborFacts Netlink::neighbor(uint32_t interface, const Address& address) const {
  ndmsg body{};
  body.ndm_family = is_ipv4(address) ? AF_INET : AF_INET6;
  body.ndm_ifindex = static_cast<int>(interface);
  Request request(RTM_GETNEIGH, body);
  request.add(NDA_DST, address);
  NeighborFacts neighbor;
  if (!ask(request)) return neighbor;
  const Attributes found = read_body(reply_, reply_bytes_, body);
  const auto mac = found.find(NDA_LLADDR);
  neighbor.resolved = (body.ndm_state & kUsable) != 0 && mac.size() == neighbor.mac.size();
  neighbor.stale = (body.ndm_state & NUD_STALE) != 0;
  neighbor.mac = mac_of(mac);
  return neighbor;
}

bool Netlink::changed() const {
  bool any = false;
  while (true) {
    std::array<std::byte, 4096> notification;
    const ssize_t got =
        recv(notifications_.number(), notification.data(), notification.size(), MSG_TRUNC);
    if (got < 0 && errno == ENOBUFS) {
      any = true;  // some were lost
      continue;
    }
    if (got <= 0) return any;
    any = true;
  }
}

}  // namespace heddle::datapath
