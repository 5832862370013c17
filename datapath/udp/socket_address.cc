// See socket_address.h.
#include "datapath/udp/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace heddle::datapath {

using transport::Address;

namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static_assert(sizeof(sockaddr_in6) == sizeof(SocketAddress::bytes));

}  // namespace

bool is_ipv4(const Address& address) {
  uint64_t zeros = 0;
  uint32_t mark = 0;
  std::memcpy(&zeros, address.host.data(), sizeof zeros);
  std::memcpy(&mark, address.host.data() + sizeof zeros, sizeof mark);
  return zeros == 0 && mark == htonl(0xffff);
}

Address any_address(Family family, uint16_t port) {
  Address address;
  if (family == Family::kIpv4) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.host.begin());
  }
  address.port = port;
  return address;
}

bool is_any(const Address& address) {
  const Address any = any_address(is_ipv4(address) ? Family::kIpv4 : Family::kIpv6, address.port);
  return address.host == any.host;
}

bool to_socket_address(const Address& address, Family family, SocketAddress& out) {
  if (family == Family::kIpv6) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    std::memcpy(&six.sin6_addr, address.host.data(), sizeof six.sin6_addr);
    six.sin6_scope_id = address.scope;
    std::memcpy(out.bytes.data(), &six, sizeof six);
    out.length = sizeof six;
    return true;
  }
  if (!is_ipv4(address)) return false;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  std::memcpy(&four.sin_addr, address.host.data() + kMappedPrefix.size(), sizeof four.sin_addr);
  std::memcpy(out.bytes.data(), &four, sizeof four);
  out.length = sizeof four;
  return true;
}

Address from_socket_address(const void* address) {
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, address, sizeof family);
  Address out;
  if (family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, address, sizeof six);
    std::memcpy(out.host.data(), &six.sin6_addr, sizeof six.sin6_addr);
    out.scope = six.sin6_scope_id;
    out.port = ntohs(six.sin6_port);
  } else if (family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, address, sizeof four);
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), out.host.begin());
    std::memcpy(out.host.data() + kMappedPrefix.size(), &four.sin_addr, sizeof four.sin_addr);
    out.port = ntohs(four.sin_port);
  }
  return out;
}

}  // namespace heddle::datapath
