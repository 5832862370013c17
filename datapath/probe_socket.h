// ProbeSocket: a UDP socket that sends single datagrams with a chosen hop limit, and receives
// datagrams with their hop limit and the kernel's time of arrival. measure/ probes routes with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "transport/address.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

// A datagram that arrived.
struct ProbeArrival {
  static constexpr size_t kHead = transport::NetworkError::kMostQuoted;

  transport::Address from;
  uint8_t hop_limit = 0;  // left in its header
  Nanos at;               // by the wall clock
  size_t bytes = 0;
  std::array<std::byte, kHead> head{};  // its first bytes

  // What `head` has of it.
  std::span<const std::byte> start() const {
    return std::span(head).first(bytes < kHead ? bytes : kHead);
  }
};

class ProbeSocket {
 public:
  // Binds to the address and port. Errors: kInUse, kUnavailable, kPermission, kSystem.
  static Result<ProbeSocket> open(const transport::Address& local);

  // Waits while the socket's buffer is full. False: the system does not send it.
  bool send(const transport::Address& to, uint8_t hop_limit, std::span<const std::byte> payload);
  // Nothing of what `arrival` had stays in it. False: nothing has arrived.
  bool receive(ProbeArrival& arrival) const;
  // The next error that the network reported, and when; false: there is none.
  bool take_error(transport::NetworkError& error, Nanos& at) const;

  int descriptor() const { return descriptor_.number(); }

 private:
  ProbeSocket(Descriptor descriptor, bool is_ipv4)
      : descriptor_(std::move(descriptor)), is_ipv4_(is_ipv4) {}

  Descriptor descriptor_;
  bool is_ipv4_ = true;
  int hop_limit_ = -1;  // that the socket has
};

}  // namespace heddle::datapath
