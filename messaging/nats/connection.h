// NatsConnection: a connection to one NATS server, until it is lost. Publisher and Subscription
// make one after the other, each from its own thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "messaging/nats/library.h"
#include "messaging/nats_address.h"
#include "messaging/subscription.h"

namespace heddle::messaging {

class NatsConnection {
 public:
  // `attempt`: which of the servers, in turn; `name`: for the server's lists. Errors: kUnavailable
  // (no library, no server), kPermission (the server refuses the credentials).
  static Result<NatsConnection> make(const NatsAddress& address, const NatsAccess& access,
                                     const std::string& name, size_t attempt);

  size_t most_bytes() const;  // of a message
  // It may be sent later. Errors: kUnavailable: the connection is lost.
  Result<void> publish(const std::string& subject, const std::string& text);
  // Returns when the server has all that was published. Errors: the same.
  Result<void> flush(Nanos within);
  // Why the server has not taken what was published or subscribed since it connected; empty: it
  // has.
  std::string refusal() const;

  // Of one subject or a pattern, to be called once. Errors: the same.
  Result<void> subscribe(const std::string& pattern);
  // Nothing: none has come in this time. Errors: the same.
  Result<std::optional<Received>> next(Nanos within);
  // Messages that came while too many waited.
  uint64_t dropped() const;

 private:
  struct End {
    void operator()(natsConnection* each) const { nats_library().end_connection(each); }
    void operator()(natsSubscription* each) const { nats_library().end_subscription(each); }
    void operator()(natsOptions* each) const { nats_library().end_options(each); }
  };
  NatsConnection(natsConnection* connection, std::string server)
      : connection_(connection), server_(std::move(server)) {}
  Result<void> checked(natsStatus status) const;

  std::unique_ptr<natsConnection, End> connection_;
  std::unique_ptr<natsSubscription, End> subscription_;  // ends before it
  std::string server_;
};

}  // namespace heddle::messaging
