// MessageCarrier: what carries the messages of communicators in place of their connections, for
// simulations that compare another transport. Of a message it carries the head (a signature, and
// the bytes of a small message) and otherwise its length only, so the contents of large receives
// are arbitrary. Control messages between ranks stay on connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/endpoint.h"

namespace heddle::collectives {

class MessageCarrier {
 public:
  // The n-th send of a stream meets its n-th receive, which is of the same length.
  struct Stream {
    uint64_t communicator = 0;
    transport::Address from;  // of the ranks' endpoints
    transport::Address to;
    engine::Channel channel = 0;
  };
  enum class State : uint8_t { kWaiting, kDone, kFailed };

  virtual ~MessageCarrier() = default;

  // Each returns at once with a ticket, above 0, for look() and forget(). `head` is copied.
  virtual uint64_t send(const Stream& stream, uint64_t bytes, std::span<const std::byte> head) = 0;
  virtual uint64_t receive(const Stream& stream) = 0;
  // kDone: the message was acknowledged, or has arrived, and its head was copied to `head` as far
  // as it fits. kDone and kFailed end the ticket.
  virtual State look(uint64_t ticket, std::span<std::byte> head) = 0;
  // Ends the ticket; its message continues.
  virtual void forget(uint64_t ticket) = 0;
};

}  // namespace heddle::collectives
