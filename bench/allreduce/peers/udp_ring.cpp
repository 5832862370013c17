// A limit: the throughput of the kernel's UDP without a protocol:
//   udp_ring RANK SIZE ADDRESS NEXT PREVIOUS MTU BYTES:CALLS…  (BYTES: more than two of the largest datagrams)
// Each rank sends the next one the bytes of a ring all-reduce of BYTES, in the largest possible bursts, and receives
// as many from the previous one: it adds half of them to its own data and places the other half. There is no
// retransmission and no ordering; it waits only for the window. Rank 0 prints [{"bytes": …, "us": …}, …].
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr uint16_t kDataPort = 17'171;
constexpr uint16_t kCreditPort = 17'172;
constexpr uint64_t kWindow = 4 << 20;  // bytes that the next rank has not yet confirmed
constexpr size_t kRowBytes = 65'507;
constexpr int kIdleMs = 10;
constexpr int kPatienceMs = 10'000;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "udp_ring: %s: %s\n", why, std::strerror(errno));
  std::exit(1);
}

sockaddr_in address_of(const char* text, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1) std::exit(2);
  return address;
}

int bound_socket(const char* own, uint16_t port) {
  const int made = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  const sockaddr_in here = address_of(own, port);
  if (bind(made, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) stop("cannot bind");
  return made;
}

class Ring {
 public:
  Ring(const char* own, const char* next, const char* previous, int mtu)
      : data_(bound_socket(own, kDataPort)),
        credit_(bound_socket(own, kCreditPort)),
        next_(address_of(next, kDataPort)),
        previous_(address_of(previous, kCreditPort)) {
    const int on = 1, buffer = 32 << 20, segment = mtu - 28;
    burst_ = kRowBytes / segment * segment;
    if (setsockopt(data_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0 ||
        setsockopt(data_, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer) != 0 ||
        setsockopt(data_, SOL_UDP, UDP_GRO, &on, sizeof on) != 0 ||
        setsockopt(data_, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) {
      stop("cannot set a socket up");
    }
    wait_for_next();
  }

  // Moves this many more bytes in each direction.
  void move(uint64_t bytes, std::vector<float>& data) {
    target_ += bytes;
    int idle = 0;
    while (sent_ < target_ || got_ < target_ || told_ < target_) {
      const bool may_send = sent_ < target_ && sent_ - told_ < kWindow;
      std::array<pollfd, 2> ready{{{data_, POLLIN, 0}, {credit_, POLLIN, 0}}};
      if (poll(ready.data(), ready.size(), may_send ? 0 : kIdleMs) == 0 && !may_send) {
        tell();  // the previous rank may have started only now
        if (++idle > kPatienceMs / kIdleMs) {
          std::fprintf(stderr, "udp_ring: a datagram was lost\n");
          std::exit(1);
        }
      }
      if (ready[1].revents != 0) take_credit();
      for (int i = 0; i < 8 && ready[0].revents != 0 && receive(bytes, data); ++i) continue;
      for (int i = 0; i < 2 && sent_ < target_ && sent_ - told_ < kWindow && send(data); ++i) continue;
    }
  }

 private:
  // Announces this rank until the next rank has announced itself; earlier datagrams would be lost.
  void wait_for_next() {
    for (int waited = 0; waited < kPatienceMs; waited += kIdleMs) {
      tell();
      pollfd ready{credit_, POLLIN, 0};
      if (poll(&ready, 1, kIdleMs) == 1) return;
    }
    std::fprintf(stderr, "udp_ring: the next rank did not come\n");
    std::exit(1);
  }

  void tell() {
    told_to_previous_ = got_;
    sendto(credit_, &got_, sizeof got_, 0, reinterpret_cast<const sockaddr*>(&previous_), sizeof previous_);
  }

  void take_credit() {
    uint64_t told = 0;
    while (recv(credit_, &told, sizeof told, 0) == sizeof told) told_ = std::max(told_, told);
  }

  bool receive(uint64_t bytes, std::vector<float>& data) {
    const size_t place = got_ / sizeof(float) % data.size();
    const bool fits = (data.size() - place) * sizeof(float) >= row_.size();
    float* const own = data.data() + (fits ? place : 0);
    const bool gathers = target_ - std::min(target_, got_) <= bytes / 2;
    const ssize_t came = recv(data_, gathers ? static_cast<void*>(own) : row_.data(), row_.size(), 0);
    if (came <= 0) return false;
    if (!gathers) {
      const size_t elements = static_cast<size_t>(came) / sizeof(float);
      const auto* from = reinterpret_cast<const float*>(row_.data());
      for (size_t i = 0; i < elements; ++i) own[i] += from[i];
    }
    got_ += static_cast<uint64_t>(came);
    if (got_ - told_to_previous_ >= kWindow / 4 || got_ >= target_) tell();
    return true;
  }

  bool send(const std::vector<float>& data) {
    const size_t size = data.size() * sizeof(float);
    const uint64_t at = sent_ % size;
    const size_t bytes = std::min<uint64_t>({burst_, target_ - sent_, size - at});
    const ssize_t left = sendto(data_, reinterpret_cast<const char*>(data.data()) + at, bytes, 0,
                                reinterpret_cast<const sockaddr*>(&next_), sizeof next_);
    if (left < 0 && errno != EAGAIN && errno != ENOBUFS) stop("cannot send");
    if (left <= 0) return false;
    sent_ += static_cast<uint64_t>(left);
    return true;
  }

  int data_, credit_;
  sockaddr_in next_, previous_;
  size_t burst_ = 0;
  uint64_t target_ = 0, sent_ = 0, got_ = 0, told_ = 0, told_to_previous_ = 0;
  alignas(64) std::array<char, kRowBytes> row_{};
};

}  // namespace

int main(int count, char** words) {
  if (count < 8) {
    std::fprintf(stderr, "usage: udp_ring RANK SIZE ADDRESS NEXT PREVIOUS MTU BYTES:CALLS ...\n");
    return 2;
  }
  const int rank = std::atoi(words[1]);
  const uint64_t size = std::strtoull(words[2], nullptr, 10);
  Ring ring(words[3], words[4], words[5], std::atoi(words[6]));
  if (rank == 0) std::printf("[");
  for (int i = 7; i < count; ++i) {
    long bytes = 0, calls = 0;
    const bool read = std::sscanf(words[i], "%ld:%ld", &bytes, &calls) == 2;
    if (!read || bytes < 2 * static_cast<long>(kRowBytes) || calls < 1) return 2;
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    const uint64_t moved = 2 * (size - 1) * static_cast<uint64_t>(bytes) / size;
    ring.move(moved, data);
    const auto began = std::chrono::steady_clock::now();
    for (long done = 0; done < calls; ++done) ring.move(moved, data);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    if (rank == 0) std::printf("%s{\"bytes\": %ld, \"us\": %.3f}", i > 7 ? ", " : "", bytes, took.count() / calls);
  }
  if (rank == 0) std::printf("]\n");
  return 0;
}
