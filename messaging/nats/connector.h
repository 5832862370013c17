// Connector: makes one connection after the other, each in a thread of its own. libnats 3.4 has no
// deadline for the handshake of TLS, and a resolver has its own: an attempt that takes too long is
// left alone, so that neither its caller nor the end of the process waits for it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"
#include "messaging/nats/connection.h"
#include "messaging/nats_address.h"

namespace heddle::messaging {

class Connector {
 public:
  Connector(NatsAddress address, NatsAccess access, std::string name)
      : address_(std::move(address)), access_(std::move(access)), name_(std::move(name)) {}

  // To the next of the servers. `ends`: asked often; true: it returns at once. Errors: those of
  // NatsConnection::make(); kUnavailable: no answer in time; kExhausted: no thread, or too many
  // attempts that were left alone still last.
  Result<NatsConnection> connect(const std::function<bool()>& ends);

 private:
  NatsAddress address_;
  NatsAccess access_;
  std::string name_;
  size_t attempt_ = 0;
};

}  // namespace heddle::messaging
