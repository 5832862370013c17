// Publisher: hands messages to a NATS server from a thread of its own, so that its caller never
// waits for a network. Without a server messages wait, up to a bound, and it is tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "messaging/nats_address.h"

namespace heddle::messaging {

struct Message {
  std::string subject;
  std::string text;
  // Where too much waits the others are dropped first, the oldest of them.
  bool important = false;
  // Takes the place of one with the same subject that waits.
  bool newest_only = false;
};

struct PublisherOptions {
  NatsAddress address;
  NatsAccess access;
  std::string name;  // of this client, in the server's lists
};

struct PublisherState {
  bool connected = false;
  std::string complaint;   // why it is not, or what was dropped last; empty: nothing is wrong
  uint64_t published = 0;  // messages that the server has confirmed
  uint64_t dropped = 0;    // that it will never get
  uint64_t losses = 0;     // of a connection that was there
  size_t waiting = 0;
};

class Publisher {
 public:
  // Errors: kUnavailable (there is no libnats), kExhausted (no thread). A server that cannot be
  // reached is none.
  static Result<std::unique_ptr<Publisher>> start(PublisherOptions options);
  // Ends within the time that an answer may take.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Each is published once or, where the connection is lost before the server's answer, again.
  void post(Message message);
  // Returns when nothing waits any more; false: something does after this time.
  bool finish(Nanos within);
  PublisherState state() const;

 private:
  class Body;
  explicit Publisher(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace heddle::messaging
