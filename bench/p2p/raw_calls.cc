// Plain calls and batches of one message; the io_uring is in raw_ring.cc.
#include "bench/p2p/raw_calls.h"

#include <sys/socket.h>
#include <sys/uio.h>

namespace heddle::bench {
namespace {

void set_patience(const RawSocket& udp) {
  const timeval patience{.tv_sec = 0, .tv_usec = kPatience / micros(1)};
  setsockopt(udp.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

// `receive` takes the flags of a receiving call, and returns whether a message came.
template <typename Receive>
bool spin(Receive receive) {
  Nanos give_up;
  for (uint32_t tries = 0;; ++tries) {
    if (receive()) return true;
    if (tries == 0) {
      give_up = raw_now() + kPatience;
    } else if (tries % 256 == 0 && raw_now() > give_up) {
      return false;
    }
  }
}

class PlainCalls : public RawCalls {
 public:
  PlainCalls(const RawSocket& udp, bool sleep) : udp_(udp.get()), sleep_(sleep) {}

  bool send(const std::vector<std::byte>& message) override {
    return ::send(udp_, message.data(), message.size(), 0) > 0;
  }

  bool await(std::vector<std::byte>& buffer) override {
    if (sleep_) return recv(udp_, buffer.data(), buffer.size(), 0) > 0;
    return spin([&] { return recv(udp_, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0; });
  }

 private:
  const int udp_;
  const bool sleep_;
};

class BatchCalls : public RawCalls {
 public:
  BatchCalls(const RawSocket& udp, bool sleep) : udp_(udp.get()), sleep_(sleep) {}

  bool send(const std::vector<std::byte>& message) override {
    iovec part{const_cast<std::byte*>(message.data()), message.size()};
    mmsghdr one = of(part);
    return sendmmsg(udp_, &one, 1, 0) == 1;
  }

  bool await(std::vector<std::byte>& buffer) override {
    iovec part{buffer.data(), buffer.size()};
    mmsghdr one = of(part);
    if (sleep_) return recvmmsg(udp_, &one, 1, MSG_WAITFORONE, nullptr) == 1;
    return spin([&] { return recvmmsg(udp_, &one, 1, MSG_DONTWAIT, nullptr) == 1; });
  }

 private:
  static mmsghdr of(iovec& part) {
    mmsghdr one{};
    one.msg_hdr.msg_iov = &part;
    one.msg_hdr.msg_iovlen = 1;
    return one;
  }

  const int udp_;
  const bool sleep_;
};

}  // namespace

Result<std::unique_ptr<RawCalls>> open_calls(const RawSocket& udp, const RawRequest& request) {
  const bool sleep = request.sleep != 0;
  if (request.calls == RawCallKind::kRing) return open_ring(udp, sleep);
  set_patience(udp);
  if (request.calls == RawCallKind::kBatch) {
    return std::unique_ptr<RawCalls>(std::make_unique<BatchCalls>(udp, sleep));
  }
  return std::unique_ptr<RawCalls>(std::make_unique<PlainCalls>(udp, sleep));
}

}  // namespace heddle::bench
