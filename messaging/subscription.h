// Subscription: the messages of subjects of a NATS server, collected by a thread of its own until
// they are taken. A connection that is lost is made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "messaging/nats_address.h"

namespace heddle::messaging {

struct Received {
  std::string subject;
  std::string text;  // any bytes
};

struct SubscriptionOptions {
  NatsAddress address;
  NatsAccess access;
  std::string name;
  std::string pattern;  // of subjects, with the wildcards of NATS
};

struct SubscriptionState {
  bool connected = false;
  std::string complaint;  // empty: nothing is wrong
  uint64_t received = 0;
  uint64_t dropped = 0;  // they came while too many waited
  uint64_t losses = 0;   // of a connection that was there
};

class Subscription {
 public:
  // Errors: kUnavailable (there is no libnats), kExhausted (no thread). A server that cannot be
  // reached is none.
  static Result<std::unique_ptr<Subscription>> start(SubscriptionOptions options);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // What has come since the last call, in the order in which it came.
  std::vector<Received> take();
  SubscriptionState state() const;

 private:
  class Body;
  explicit Subscription(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace heddle::messaging
