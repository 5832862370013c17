// NetworkErrors: what the network said and nobody has asked for yet; and where it says it, the
// error queue of a socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/address.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

// Holds a bounded number; when full, the oldest is forgotten. Equal neighbours are kept once.
class NetworkErrors {
 public:
  void add(const transport::NetworkError& error);
  bool take(transport::NetworkError& error);
  bool empty() const { return count_ == 0; }

 private:
  static constexpr size_t kMost = 64;
  std::array<transport::NetworkError, kMost> errors_;
  size_t first_ = 0;
  size_t count_ = 0;
};

// Moves what ICMP told the socket into `errors`, with `path` as their path, and clears the socket's
// pending error. Errors that this host made itself are skipped: the call that failed has told them.
void drain_error_queue(int descriptor, uint16_t path, NetworkErrors& errors);

}  // namespace heddle::datapath
