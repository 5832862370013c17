// See capture.h. A packet socket with the header that describes how to split a GSO datagram.
#include "bench/hostile/capture.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace heddle::bench {
namespace {

constexpr size_t kMostBytes = 70'000;

// virtio_net_hdr: its own header does not compile as C++.
struct RowHeader {
  uint8_t flags;
  uint8_t gso_type;  // 0: a single datagram
  uint16_t header_bytes;
  uint16_t gso_size;
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(RowHeader) == 10);

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

void cut(const RowHeader& row, const uint8_t* at, size_t bytes, std::vector<Datagram>& out) {
  iphdr ip{};
  udphdr udp{};
  if (bytes < sizeof ip) return;
  std::memcpy(&ip, at, sizeof ip);
  const size_t ip_bytes = size_t{ip.ihl} * 4;
  if (ip.version != 4 || ip.protocol != IPPROTO_UDP || bytes < ip_bytes + sizeof udp) return;
  std::memcpy(&udp, at + ip_bytes, sizeof udp);
  const uint8_t* payload = at + ip_bytes + sizeof udp;
  size_t left = bytes - ip_bytes - sizeof udp;
  const size_t step = row.gso_type != 0 && row.gso_size > 0 ? row.gso_size : left;
  while (left > 0) {
    const size_t length = std::min(step, left);
    out.push_back({ip.saddr, ip.daddr, udp.source, udp.dest, {payload, payload + length}});
    payload += length;
    left -= length;
  }
}

}  // namespace

Capture::Capture(const std::string& interface)
    : descriptor_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL))) {
  check(descriptor_ >= 0, "cannot capture");
  const int on = 1;
  check(setsockopt(descriptor_, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) == 0,
        "cannot learn how rows are cut");
  const int room = 64 << 20;
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  check(at.sll_ifindex != 0, "no such interface");
  check(bind(descriptor_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0,
        "cannot capture on it");
}

Capture::~Capture() { ::close(descriptor_); }

std::vector<Datagram> Capture::take(int wait_ms) {
  std::vector<Datagram> out;
  std::vector<uint8_t> bytes(kMostBytes);
  pollfd watched{descriptor_, POLLIN, 0};
  if (poll(&watched, 1, wait_ms) <= 0) return out;
  while (true) {
    const ssize_t got = recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return out;
    RowHeader row{};
    constexpr size_t kBefore = sizeof row + sizeof(ether_header);
    if (static_cast<size_t>(got) < kBefore) continue;
    std::memcpy(&row, bytes.data(), sizeof row);
    cut(row, bytes.data() + kBefore, static_cast<size_t>(got) - kBefore, out);
  }
}

}  // namespace heddle::bench
