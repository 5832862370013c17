// MessageLink: messages to and from one peer, over a connection of the transport (DirectLink) or
// through relays (relaying/relayed_link.h). Programs that work over either use this interface.
// One thread uses a link.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "transport/payload.h"

namespace heddle::engine {

// Bytes of the caller, which stay in place until their operation is done.
struct MessageBytes {
  std::byte* start = nullptr;  // may be null where bytes is 0
  uint64_t bytes = 0;
  transport::RegionId region = transport::kNoRegion;  // of the link's endpoint; or kNoRegion
  uint64_t offset = 0;                                // of `start` in the region
};

class MessageLink {
 public:
  explicit MessageLink(Endpoint& endpoint) : endpoint_(endpoint) {}
  virtual ~MessageLink() = default;
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  // As those of Endpoint: the n-th send of a channel meets its n-th receive. A send is done
  // when the far end has the message, whatever is between. Errors: kInvalid, kClosed, kExhausted.
  virtual Result<Operation> send(Channel channel, const MessageBytes& bytes) = 0;
  virtual Result<Operation> receive(Channel channel, const MessageBytes& bytes) = 0;
  // The outcome if it is done; then the operation is no more.
  virtual Outcome peek(Operation operation) = 0;
  // Waits until it is done or `timeout` passed. Takes turns of the endpoint meanwhile.
  virtual Outcome wait(Operation operation, Nanos timeout) = 0;
  virtual void forget(Operation operation) = 0;

  // The link's own work, which never blocks: for owners that call the endpoint's progress().
  virtual void step() {}
  // kOpening until the far end has answered.
  virtual ConnectionStatus status() const = 0;
  // Ends once every send is done, or after `timeout`.
  virtual Result<void> close(Nanos timeout) = 0;
  // Ends at once: operations end with kClosed.
  virtual void abort() = 0;
  // The connection to the next hop, for its statistics; it changes when a relay is started anew.
  virtual Connection connection() const = 0;
  // Whether a message that meets no posted receive may hold back all that follow it, confirmations
  // and other channels included.
  virtual bool needs_posted_receives() const { return false; }
  // For how long it may be without a connection and then continue. 0: it ends with its connection.
  virtual Nanos reconnect_timeout() const { return {}; }

  // The endpoint's progress(), and a step.
  bool progress(Nanos timeout) {
    const bool happened = endpoint_.progress(timeout);
    step();
    return happened;
  }
  Endpoint& endpoint() const { return endpoint_; }
  Nanos now() const { return endpoint_.now(); }

 private:
  Endpoint& endpoint_;
};

// A connection of the transport, which its owner opens.
class DirectLink : public MessageLink {
 public:
  DirectLink(Endpoint& endpoint, Connection connection)
      : MessageLink(endpoint), connection_(connection) {}

  Result<Operation> send(Channel channel, const MessageBytes& bytes) override {
    if (bytes.region == transport::kNoRegion && bytes.bytes > 0) {
      return endpoint().send(connection_, channel, bytes.start, bytes.bytes);
    }
    return endpoint().send(connection_, channel, payload(bytes));
  }
  Result<Operation> receive(Channel channel, const MessageBytes& bytes) override {
    if (bytes.region == transport::kNoRegion && bytes.bytes > 0) {
      return endpoint().receive(connection_, channel, bytes.start, bytes.bytes);
    }
    return endpoint().receive(connection_, channel, payload(bytes));
  }
  Outcome peek(Operation operation) override { return endpoint().peek(operation); }
  Outcome wait(Operation operation, Nanos timeout) override {
    return endpoint().wait(operation, timeout);
  }
  void forget(Operation operation) override { endpoint().forget(operation); }
  ConnectionStatus status() const override { return endpoint().status(connection_); }
  Result<void> close(Nanos timeout) override { return endpoint().close(connection_, timeout); }
  void abort() override { endpoint().abort(connection_); }
  Connection connection() const override { return connection_; }

 private:
  static transport::Payload payload(const MessageBytes& bytes) {
    return {.region = bytes.region, .offset = bytes.offset, .length = bytes.bytes};
  }

  const Connection connection_;
};

}  // namespace heddle::engine
