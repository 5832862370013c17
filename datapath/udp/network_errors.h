// NetworkErrors: a queue of errors that the network reported, and the function that reads them from
// a socket's error queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/nanos.h"
#include "datapath/udp/params.h"
#include "transport/address.h"
#include "transport/rx_run.h"

struct cmsghdr;

namespace heddle::datapath {

// Bounded; when full, it drops the oldest. Consecutive equal errors are stored once.
class NetworkErrors {
 public:
  void add(const transport::NetworkError& error);
  bool take(transport::NetworkError& error);
  bool empty() const { return count_ == 0; }

 private:
  static constexpr size_t kMost = udp_params::kErrorsKept;
  std::array<transport::NetworkError, kMost> errors_;
  size_t first_ = 0;
  size_t count_ = 0;
};

// An error, and when it arrived by the wall clock; zero on a socket without SO_TIMESTAMPNS.
struct TimedNetworkError {
  transport::NetworkError error;
  Nanos at;
};

// When a datagram or an error arrived, by the wall clock: an SCM_TIMESTAMPNS of its message.
Nanos arrival_of(const cmsghdr& timestamp);

// Reads the next ICMP error of the socket; `read` stays empty if the transport cannot use it. False
// when the queue is empty.
bool read_network_error(int descriptor, uint16_t path, std::optional<TimedNetworkError>& read);

// Moves ICMP errors of the socket into `errors`, with `path` as their path, and clears the socket's
// pending error. Locally generated errors are skipped: the failed call has already returned them.
void drain_error_queue(int descriptor, uint16_t path, NetworkErrors& errors);

}  // namespace heddle::datapath
