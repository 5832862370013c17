// See link_reader.h.
#include "nodes/link_reader.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "nodes/params.h"

namespace heddle::nodes {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t kUnknownSpeed = UINT32_MAX;  // SPEED_UNKNOWN

template <typename Value>
std::optional<Value> take(Bytes bytes) {
  if (bytes.size() < sizeof(Value)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The content of an attribute; empty: it is not there.
Bytes attribute(Bytes attributes, uint16_t type) {
  while (const auto header = take<rtattr>(attributes)) {
    if (header->rta_len < sizeof(rtattr) || header->rta_len > attributes.size()) return {};
    if ((header->rta_type & NLA_TYPE_MASK) == type) {
      return attributes.subspan(sizeof(rtattr), header->rta_len - sizeof(rtattr));
    }
    attributes =
        attributes.subspan(std::min<size_t>(RTA_ALIGN(header->rta_len), attributes.size()));
  }
  return {};
}

std::string text_of(Bytes content) {
  const auto* const text = reinterpret_cast<const char*>(content.data());
  return content.empty() ? "" : std::string(text, strnlen(text, content.size()));
}

// An older kernel's statistics are shorter, and those that are not there are zero.
rtnl_link_stats64 statistics_of(Bytes attributes) {
  rtnl_link_stats64 counts{};
  const Bytes content = attribute(attributes, IFLA_STATS64);
  if (!content.empty()) {
    std::memcpy(&counts, content.data(), std::min(content.size(), sizeof counts));
  }
  return counts;
}

std::optional<LinkState> link_of(Bytes body, bool is_removed) {
  const auto about = take<ifinfomsg>(body);
  if (!about || body.size() < NLMSG_ALIGN(sizeof(ifinfomsg))) return std::nullopt;
  const Bytes attributes = body.subspan(NLMSG_ALIGN(sizeof(ifinfomsg)));
  const Bytes name = attribute(attributes, IFLA_IFNAME);
  if (name.empty()) return std::nullopt;
  const rtnl_link_stats64 counts = statistics_of(attributes);
  LinkState link;
  link.index = about->ifi_index;
  link.name = text_of(name);
  link.is_loopback = (about->ifi_flags & IFF_LOOPBACK) != 0;
  const Bytes kind = attribute(attribute(attributes, IFLA_LINKINFO), IFLA_INFO_KIND);
  link.is_virtual = !kind.empty();
  link.is_bridge = text_of(kind) == "bridge";
  link.is_removed = is_removed;
  constexpr uint32_t kOn = IFF_UP | IFF_RUNNING;
  link.up = !is_removed && (about->ifi_flags & kOn) == kOn;
  link.carrier_losses = take<uint32_t>(attribute(attributes, IFLA_CARRIER_DOWN_COUNT)).value_or(0);
  link.received_bytes = counts.rx_bytes;
  link.sent_bytes = counts.tx_bytes;
  link.received_packets = counts.rx_packets;
  link.sent_packets = counts.tx_packets;
  link.received_errors = counts.rx_errors;
  link.sent_errors = counts.tx_errors;
  link.received_drops = counts.rx_dropped + counts.rx_missed_errors;
  link.sent_drops = counts.tx_dropped;
  return link;
}

Unexpected cannot_read(int error) {
  const bool full = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  const bool rights = error == EPERM || error == EACCES;
  return fail(full     ? ErrorCode::kExhausted
              : rights ? ErrorCode::kPermission
                       : ErrorCode::kSystem,
              "cannot read the network interfaces' counters (rtnetlink)", std::strerror(error),
              "allow sockets of the family AF_NETLINK");
}

}  // namespace

std::vector<LinkState> parse_links(std::span<const std::byte> messages, bool& done) {
  std::vector<LinkState> links;
  done = false;
  while (const auto header = take<nlmsghdr>(messages)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > messages.size()) break;
    const Bytes body = messages.subspan(sizeof(nlmsghdr), header->nlmsg_len - sizeof(nlmsghdr));
    done = done || header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR;
    if (header->nlmsg_type == RTM_NEWLINK || header->nlmsg_type == RTM_DELLINK) {
      auto link = link_of(body, header->nlmsg_type == RTM_DELLINK);
      if (link) links.push_back(std::move(*link));
    }
    messages = messages.subspan(std::min<size_t>(NLMSG_ALIGN(header->nlmsg_len), messages.size()));
  }
  return links;
}

Result<LinkReader> LinkReader::open() {
  constexpr int kKind = SOCK_RAW | SOCK_CLOEXEC;
  Descriptor requests(socket(AF_NETLINK, kKind, NETLINK_ROUTE));
  if (!requests.valid()) return cannot_read(errno);
  Descriptor notifications(socket(AF_NETLINK, kKind | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!notifications.valid()) return cannot_read(errno);
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_LINK;
  const auto* const address = reinterpret_cast<const sockaddr*>(&groups);
  if (bind(notifications.number(), address, sizeof groups) != 0) return cannot_read(errno);
  return LinkReader(std::move(requests), std::move(notifications));
}

Result<std::vector<LinkState>> LinkReader::read() {
  struct {
    nlmsghdr header;
    ifinfomsg body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = ++sequence_;
  request.body.ifi_family = AF_UNSPEC;
  if (send(requests_.number(), &request, sizeof request, 0) < 0) return cannot_read(errno);
  std::vector<LinkState> links;
  std::vector<std::byte> reply(params::kReplyBytes);
  for (bool done = false; !done;) {
    const ssize_t got = recv(requests_.number(), reply.data(), reply.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return cannot_read(got == 0 ? EPIPE : errno);
    auto some = parse_links(Bytes(reply).first(static_cast<size_t>(got)), done);
    links.insert(links.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
  }
  return links;
}

uint32_t LinkReader::speed_of(const std::string& interface) const {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  ifreq question{};
  interface.copy(question.ifr_name, sizeof question.ifr_name - 1);
  question.ifr_data = reinterpret_cast<char*>(&settings);
  if (ioctl(requests_.number(), SIOCETHTOOL, &question) != 0) return 0;
  const uint32_t speed = ethtool_cmd_speed(&settings);
  return speed == kUnknownSpeed || speed == UINT16_MAX ? 0 : speed;
}

bool LinkReader::has_address(const std::string& interface) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* each = all; each != nullptr && !found; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || interface != each->ifa_name) continue;
    const sockaddr* const address = each->ifa_addr;
    found = address->sa_family == AF_INET ||
            (address->sa_family == AF_INET6 &&
             !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr));
  }
  freeifaddrs(all);
  return found;
}

std::vector<LinkState> LinkReader::take_notified() {
  std::vector<LinkState> links;
  std::vector<std::byte> message(params::kReplyBytes);
  while (true) {
    const ssize_t got = recv(notifications_.number(), message.data(), message.size(), 0);
    // Too many came to keep: the next sample has the states.
    if (got < 0 && (errno == EINTR || errno == ENOBUFS)) continue;
    if (got <= 0) {
      if (got == 0 || errno != EAGAIN) notifications_ = Descriptor();  // readable for ever
      return links;
    }
    bool done = false;
    auto some = parse_links(Bytes(message).first(static_cast<size_t>(got)), done);
    links.insert(links.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
  }
}

}  // namespace heddle::nodes
