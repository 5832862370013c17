// Opens, binds and configures sockets; errors say what a user can do.
#include "datapath/udp/socket.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "datapath/resolve.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/params.h"

namespace heddle::datapath {

using transport::Address;

namespace {

const char* why_of(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program uses it";
    case EACCES:
    case EPERM:
      return "the system does not permit it";
    case EADDRNOTAVAIL:
      return "this host has no such address";
    case EAFNOSUPPORT:
      return "this kernel has no IPv6";
    case EMFILE:
    case ENFILE:
      return "too many files are open";
    default:
      return std::strerror(error);
  }
}

Unexpected refuse(const std::string& what, int error, const Address& local) {
  switch (error) {
    case EADDRINUSE:
      return fail(ErrorCode::kInUse, what, why_of(error),
                  "choose another port, or find the program with `ss -lunp`");
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kPermission, what, why_of(error),
                  local.port != 0 && local.port < 1024
                      ? "choose a port above 1023"
                      : "check the sandbox and the security policy of this process");
    case EADDRNOTAVAIL:
      return fail(ErrorCode::kUnavailable, what, why_of(error),
                  "`ip address` shows the addresses of this host");
    case EAFNOSUPPORT:
      return fail(ErrorCode::kUnavailable, what, why_of(error), "use an IPv4 address");
    case EMFILE:
    case ENFILE:
      return fail(ErrorCode::kExhausted, what, why_of(error),
                  "use fewer paths or engines, or raise the limit (`ulimit -n`)");
    default:
      return fail(ErrorCode::kSystem, what, why_of(error));
  }
}

Result<Socket> make_socket(const Attachment& attachment, const std::string& what) {
  const int domain = attachment.family == Family::kIpv6 ? AF_INET6 : AF_INET;
  Socket socket(::socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.descriptor() < 0) return refuse(what, errno, attachment.local);
  if (attachment.family == Family::kIpv6 &&
      !socket.set(IPPROTO_IPV6, IPV6_V6ONLY, attachment.dual ? 0 : 1)) {
    return refuse(what, errno, attachment.local);
  }
  return socket;
}

Result<void> bind_to(const Socket& socket, const Attachment& attachment, uint16_t port,
                     const std::string& what) {
  Address local = attachment.local;
  local.port = port;
  SocketAddress address;
  CHECK(to_socket_address(local, attachment.family, address));
  const auto* raw = reinterpret_cast<const sockaddr*>(address.bytes.data());
  if (bind(socket.descriptor(), raw, address.length) != 0) return refuse(what, errno, local);
  return {};
}

// Binds to a free port by its number, so that the port stays when the socket reconnects.
Result<void> bind_to_free_port(const Socket& socket, const Attachment& attachment,
                               const std::string& what) {
  for (int attempt = 1;; ++attempt) {
    uint16_t port = 0;
    {
      Result<Socket> finder = make_socket(attachment, what);
      if (!finder) return fail(std::move(finder).error());
      if (Result<void> bound = bind_to(*finder, attachment, 0, what); !bound) return bound;
      port = bound_port(finder->descriptor());
    }
    Result<void> bound = bind_to(socket, attachment, port, what);
    const bool taken_meanwhile = !bound && bound.error().code == ErrorCode::kInUse;
    if (!taken_meanwhile || attempt == udp_params::kPortAttempts) return bound;
  }
}

Result<Attachment> attach(const std::string& bind, uint16_t port) {
  Attachment attachment;
  if (!bind.empty()) {
    Result<Address> local = local_address(bind, port);
    if (!local) return fail(std::move(local).error());
    attachment.local = *local;
    attachment.family = is_ipv4(*local) ? Family::kIpv4 : Family::kIpv6;
    attachment.dual = attachment.family == Family::kIpv6 && is_any(*local);
    return attachment;
  }
  const Socket probe(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool has_ipv6 = probe.descriptor() >= 0 && probe.set(IPPROTO_IPV6, IPV6_V6ONLY, 0);
  attachment.family = has_ipv6 ? Family::kIpv6 : Family::kIpv4;
  attachment.dual = has_ipv6;
  attachment.local = any_address(attachment.family, port);
  return attachment;
}

// Requests the size with privileges first (SO_RCVBUFFORCE), else up to the limit for any process.
uint32_t set_receive_buffer(const Socket& socket, Bytes wanted) {
  const int bytes = static_cast<int>(std::min<uint64_t>(wanted.count, INT_MAX / 2));
  if (!socket.set(SOL_SOCKET, SO_RCVBUFFORCE, bytes)) socket.set(SOL_SOCKET, SO_RCVBUF, bytes);
  return static_cast<uint32_t>(std::max(0, socket.get(SOL_SOCKET, SO_RCVBUF, 0)));
}

// Only stray or forged datagrams reach a send socket; the filter drops them all.
bool drop_all(const Socket& socket) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &nothing};
  return setsockopt(socket.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ==
         0;
}

// Splits a comma-separated list.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char each : list) {
    if (each == ',') {
      parts.emplace_back();
    } else if (each != ' ') {
      parts.back() += each;
    }
  }
  return parts;
}

// Several NICs need distinct addresses.
Result<void> check_nics(const UdpOptions& options, const std::vector<Attachment>& all) {
  const std::string what = "cannot use the NICs '" + options.bind + "' together";
  if (all.size() > transport::kMaxNics) {
    return fail(ErrorCode::kInvalid, what, "there are " + std::to_string(all.size()),
                "name at most " + std::to_string(transport::kMaxNics));
  }
  for (size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    if (is_any(all[i].local)) {
      return fail(ErrorCode::kInvalid, what,
                  host_text(all[i].local) + " stands for all addresses of this host",
                  "name each by its own address or interface");
    }
    for (size_t j = 0; j < i; ++j) {
      if (all[i].local != all[j].local) continue;
      return fail(ErrorCode::kInvalid, what, host_text(all[i].local) + " is named twice",
                  "name each NIC once");
    }
  }
  return {};
}

Result<std::vector<Attachment>> attach_all(const UdpOptions& options) {
  std::vector<Attachment> all;
  for (const std::string& part : parts_of(options.bind)) {
    if (part.empty() && !options.bind.empty()) {
      return fail(ErrorCode::kInvalid, "cannot use '" + options.bind + "' as local addresses",
                  "a name is missing beside a comma", "write them as in 10.0.0.1,10.1.0.1");
    }
    Result<Attachment> attachment = attach(part, options.port);
    if (!attachment) return fail(std::move(attachment).error());
    all.push_back(*attachment);
  }
  if (Result<void> good = check_nics(options, all); !good) return fail(std::move(good).error());
  return all;
}

}  // namespace

bool Socket::set(int level, int name, int value) const {
  return setsockopt(descriptor(), level, name, &value, sizeof value) == 0;
}

int Socket::get(int level, int name, int fallback) const {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(descriptor(), level, name, &value, &length) == 0 ? value : fallback;
}

namespace {

// `shares`: it joins the port of another socket of this user that allows it.
Result<ReceiveSocket> open_receive_socket(const Attachment& attachment, const UdpOptions& options,
                                          bool shares) {
  const uint16_t port = attachment.local.port;
  const std::string what = port == 0 && is_any(attachment.local)
                               ? std::string("cannot open a UDP port")
                               : "cannot receive on " + to_text(attachment.local) + " (UDP)";
  Result<Socket> socket = make_socket(attachment, what);
  if (!socket) return fail(std::move(socket).error());
  ReceiveSocket made{std::move(*socket), attachment};
  made.buffer_bytes = set_receive_buffer(made.socket, options.receive_buffer);
  made.socket.set(IPPROTO_IP, IP_RECVTOS, 1);
  if (made.attachment.family == Family::kIpv6) {
    made.socket.set(IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  }
  if (options.coalescing != Offload::kOff) {
    made.coalesces = made.socket.set(IPPROTO_UDP, UDP_GRO, 1);
    if (!made.coalesces && options.coalescing == Offload::kOn) {
      return fail(ErrorCode::kUnavailable, "cannot receive rows of datagrams (GRO)",
                  "this kernel cannot", "use Linux 5.0 or newer, or set GRO to auto");
    }
  }
  if (shares) made.socket.set(SOL_SOCKET, SO_REUSEPORT, 1);
  if (Result<void> bound = bind_to(made.socket, made.attachment, port, what); !bound) {
    return fail(std::move(bound).error());
  }
  made.attachment.local.port = bound_port(made.socket.descriptor());
  return made;
}

Result<std::vector<ReceiveSocket>> open_at(std::vector<Attachment> attachments,
                                           const UdpOptions& options) {
  std::vector<ReceiveSocket> opened;
  for (Attachment& attachment : attachments) {
    if (!opened.empty()) attachment.local.port = opened.front().attachment.local.port;
    Result<ReceiveSocket> socket = open_receive_socket(attachment, options, false);
    if (!socket) return fail(std::move(socket).error());
    opened.push_back(std::move(*socket));
  }
  return opened;
}

}  // namespace

// A port that is free at the first NIC may be in use at another; another free port is then tried.
Result<std::vector<ReceiveSocket>> open_receive_sockets(const UdpOptions& options) {
  const Result<std::vector<Attachment>> attachments = attach_all(options);
  if (!attachments) return fail(attachments.error());
  for (int attempt = 1;; ++attempt) {
    Result<std::vector<ReceiveSocket>> opened = open_at(*attachments, options);
    const bool retry = !opened && opened.error().code == ErrorCode::kInUse && options.port == 0;
    if (!retry || attempt == udp_params::kPortAttempts) return opened;
  }
}

Result<ReceiveSocket> open_sharing_socket(const Attachment& attachment, const UdpOptions& options) {
  return open_receive_socket(attachment, options, true);
}

Result<Socket> open_send_socket(const Attachment& attachment) {
  const std::string what = "cannot open a UDP socket to send from";
  Result<Socket> made = make_socket(attachment, what);
  if (!made) return made;
  if (!drop_all(*made)) return refuse(what, errno, attachment.local);
  made->set(SOL_SOCKET, SO_RCVBUF, udp_params::kSendSocketReceiveBuffer);
  made->set(IPPROTO_IP, IP_RECVERR, 1);
  made->set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  if (attachment.family == Family::kIpv6) {
    made->set(IPPROTO_IPV6, IPV6_RECVERR, 1);
    made->set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  }
  Result<void> bound = bind_to_free_port(*made, attachment, what);
  if (!bound) return fail(std::move(bound).error());
  return made;
}

uint16_t bound_port(int descriptor) {
  SocketAddress address;
  auto length = static_cast<socklen_t>(address.bytes.size());
  auto* raw = reinterpret_cast<sockaddr*>(address.bytes.data());
  CHECK(getsockname(descriptor, raw, &length) == 0);
  return from_socket_address(address.bytes.data()).port;
}

bool kernel_segments(const Socket& socket) { return socket.get(IPPROTO_UDP, UDP_SEGMENT, -1) >= 0; }

uint32_t route_mtu(const Address& to, Family family) {
  const bool four = is_ipv4(to);
  if (!four && family == Family::kIpv4) return 0;
  // For a mapped address an IPv6 socket would return the other protocol's MTU.
  const Family own = four ? Family::kIpv4 : Family::kIpv6;
  const Socket socket(::socket(four ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress address;
  if (socket.descriptor() < 0 || !to_socket_address(to, own, address)) return 0;
  const auto* raw = reinterpret_cast<const sockaddr*>(address.bytes.data());
  if (connect(socket.descriptor(), raw, address.length) != 0) return 0;
  const int mtu = four ? socket.get(IPPROTO_IP, IP_MTU, 0) : socket.get(IPPROTO_IPV6, IPV6_MTU, 0);
  return static_cast<uint32_t>(std::max(0, mtu));
}

}  // namespace heddle::datapath
