// DescriptorChannel: see descriptor_channel.h.
#include "datapath/descriptor_channel.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "datapath/params.h"

namespace heddle::datapath {
namespace {

constexpr size_t kMostDescriptors = 2;

Unexpected system_failure(const char* what) {
  const bool limit = errno == EMFILE || errno == ENFILE;
  return fail(limit ? ErrorCode::kExhausted : ErrorCode::kUnavailable,
              "cannot hand descriptors to another process",
              std::string(what) + ": " + std::strerror(errno),
              limit ? "raise the limit (`ulimit -n`)" : "");
}

Descriptor make_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// An abstract name: it starts with a zero byte and creates no file (unix(7)).
socklen_t fill(sockaddr_un& address, const DescriptorChannelName& name) {
  address = {};
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;
  at += std::snprintf(at, sizeof address.sun_path - 1, "heddle-");
  for (const std::byte part : name) {
    at += std::snprintf(at, 3, "%02x", std::to_integer<unsigned>(part));
  }
  return static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

bool peer_of(const Descriptor& socket, ucred& peer) {
  socklen_t length = sizeof peer;
  return getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
}

bool is_same_user(const Descriptor& socket) {
  ucred peer{};
  return peer_of(socket, peer) && peer.uid == geteuid();
}

}  // namespace

Result<DescriptorChannel> DescriptorChannel::open() {
  DescriptorChannel channel;
  channel.listener_ = make_socket();
  if (!channel.listener_.valid()) return system_failure("socket");
  if (getrandom(channel.name_.data(), channel.name_.size(), 0) !=
      static_cast<ssize_t>(channel.name_.size())) {
    return system_failure("getrandom");
  }
  sockaddr_un address;
  const socklen_t length = fill(address, channel.name_);
  if (bind(channel.listener_.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return system_failure("bind");
  }
  if (listen(channel.listener_.number(), params::kWaitingConnections) != 0) {
    return system_failure("listen");
  }
  return channel;
}

Descriptor DescriptorChannel::accept() {
  while (true) {
    Descriptor arrived(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!arrived.valid() || is_same_user(arrived)) return arrived;
  }
}

Result<Descriptor> connect_descriptor_channel(const DescriptorChannelName& name) {
  Descriptor made = make_socket();
  if (!made.valid()) return system_failure("socket");
  sockaddr_un address;
  const socklen_t length = fill(address, name);
  if (connect(made.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return system_failure("connect");
  }
  if (!is_same_user(made)) {
    return fail(ErrorCode::kPermission, "cannot hand descriptors to another process",
                "it belongs to another user");
  }
  return made;
}

Result<void> send_descriptors(const Descriptor& socket, const DescriptorMessage& note,
                              const std::vector<int>& descriptors) {
  CHECK(descriptors.size() <= kMostDescriptors && !descriptors.empty());
  DescriptorMessage sent = note;
  iovec piece{.iov_base = &sent, .iov_len = sizeof sent};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  if (sendmsg(socket.number(), &message, MSG_NOSIGNAL) != sizeof sent) {
    return system_failure("sendmsg");
  }
  return {};
}

bool has_descriptors(const Descriptor& socket) {
  pollfd watched{.fd = socket.number(), .events = POLLIN};
  return poll(&watched, 1, 0) != 0;
}

Result<ReceivedDescriptors> receive_descriptors(const Descriptor& socket) {
  ReceivedDescriptors received;
  iovec piece{.iov_base = &received.message, .iov_len = sizeof received.message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  const ssize_t got = recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC);
  if (got < 0) return system_failure("recvmsg");
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, kMostDescriptors> numbers{};
    std::memcpy(numbers.data(), CMSG_DATA(part), std::min(count, numbers.size()) * sizeof(int));
    for (size_t i = 0; i < std::min(count, numbers.size()); ++i) {
      received.descriptors.emplace_back(numbers[i]);
    }
  }
  if (got != sizeof received.message) {
    return fail(ErrorCode::kInvalid, "cannot hand descriptors to another process",
                "it sent something else", "run the same version of both");
  }
  ucred peer{};
  if (peer_of(socket, peer)) received.process = peer.pid;
  return received;
}

}  // namespace heddle::datapath
