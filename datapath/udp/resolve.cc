// Resolves host names and addresses with the system's resolver. See datapath/resolve.h.
#include "datapath/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "datapath/udp/socket_address.h"

namespace heddle::datapath {

using transport::Address;

namespace {

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

Unexpected unknown_host(const std::string& host, int code) {
  const std::string what = "cannot find the host '" + host + "'";
  if (code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY) {
    return fail(ErrorCode::kUnavailable, what, "no address is known for this name",
                "check its spelling, or give a numeric address");
  }
  if (code == EAI_AGAIN || code == EAI_FAIL) {
    return fail(ErrorCode::kUnavailable, what, "the name server does not answer",
                "give a numeric address, or check /etc/resolv.conf");
  }
  return fail(ErrorCode::kUnavailable, what,
              code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code),
              "give a numeric address");
}

struct Looked {
  std::optional<Address> address;  // the first one
  int code = EAI_NONAME;           // why there is none
};

Looked look_up(const std::string& name, int flags, uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* raw = nullptr;
  const int code = name.empty() ? EAI_NONAME : getaddrinfo(name.c_str(), nullptr, &hints, &raw);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, &freeaddrinfo);
  if (code != 0) return {std::nullopt, code};
  for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    Address address = from_socket_address(entry->ai_addr);
    address.port = port;
    return {address, 0};
  }
  return {};
}

}  // namespace

Result<Address> resolve(const std::string& host, uint16_t port) {
  const std::string name = without_brackets(host);
  if (name.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find a host", "its name is empty",
                "give a name or an address");
  }
  const Looked looked = look_up(name, 0, port);
  return looked.address ? *looked.address : Result<Address>(unknown_host(host, looked.code));
}

Result<Address> parse_address(const std::string& host, uint16_t port) {
  const Looked looked = look_up(without_brackets(host), AI_NUMERICHOST, port);
  if (looked.address) return *looked.address;
  return fail(ErrorCode::kInvalid, "cannot read an address", "'" + host + "' is no numeric address",
              "write it as 10.0.0.1 or fd00::1");
}

std::string host_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4(address)) {
    inet_ntop(AF_INET, address.host.data() + 12, text.data(), text.size());
    return text.data();
  }
  inet_ntop(AF_INET6, address.host.data(), text.data(), text.size());
  std::string out = text.data();
  if (address.scope != 0) out += "%" + std::to_string(address.scope);
  return out;
}

std::string to_text(const Address& address) {
  const std::string host = host_text(address);
  const std::string port = ":" + std::to_string(address.port);
  return is_ipv4(address) ? host + port : "[" + host + "]" + port;
}

uint32_t ip_udp_header_bytes(const Address& to) { return is_ipv4(to) ? 28 : 48; }

}  // namespace heddle::datapath
