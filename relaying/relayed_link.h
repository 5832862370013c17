// RelayedLink: messages through relays, at either end of a session. A broken connection is replaced
// by a new one over the same relays, which retransmits what the other end lacks: the program sees
// every message once and in order. The session lives in the memory of its two ends; it ends with
// either program, and with a break that is longer than the reconnect timeout.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/message_link.h"
#include "relaying/frame_port.h"
#include "relaying/outbox.h"
#include "relaying/params.h"

namespace heddle::relaying {

struct LinkOptions {
  Nanos reconnect_timeout = params::kReconnectTimeout;
  uint32_t frames_in = params::kFramesIn;
  uint32_t frames_out = params::kFramesOut;

  // Of memory that a link holds at most, without the program's messages.
  uint64_t bytes() const {
    return uint64_t{frames_in + frames_out} * params::kFrameBytes + params::kEarlyBytes;
  }
};

class RelayedLink;
// The sessions of a program at their accepting end.
using SessionTable = std::map<SessionId, RelayedLink*>;

// A connection whose hello has been read.
struct Arrival {
  std::unique_ptr<FramePort> port;
  Hello hello;
};

class RelayedLink : public engine::MessageLink {
 public:
  // Starts a session over `relays`, in their order, with the program that listens at `destination`
  // ("HOST[:PORT]", each as the hop before it knows it). Without a port, relays have params::kPort
  // and the destination `default_port`. status() reports when it is open, and messages may be
  // posted at once. May block on name resolution. Errors: kInvalid (names, too many relays),
  // kUnavailable (unknown name), kExhausted.
  static Result<std::unique_ptr<RelayedLink>> connect(engine::Endpoint& endpoint,
                                                      const std::vector<std::string>& relays,
                                                      const std::string& destination,
                                                      uint16_t default_port,
                                                      const LinkOptions& options = {});
  // The accepting end of a new session.
  static std::unique_ptr<RelayedLink> accept(engine::Endpoint& endpoint, Arrival arrival,
                                             std::shared_ptr<SessionTable> table,
                                             const LinkOptions& options);
  ~RelayedLink() override;

  // The initiator has connected again. Takes the arrival, or returns why not: the session has
  // ended, or this is an older attempt.
  std::optional<Error> attach(Arrival& arrival);

  Result<engine::Operation> send(engine::Channel channel,
                                 const engine::MessageBytes& bytes) override;
  Result<engine::Operation> receive(engine::Channel channel,
                                    const engine::MessageBytes& bytes) override;
  engine::Outcome peek(engine::Operation operation) override { return book_.take(operation); }
  engine::Outcome wait(engine::Operation operation, Nanos timeout) override;
  void forget(engine::Operation operation) override { book_.forget(operation); }
  void step() override;
  engine::ConnectionStatus status() const override;
  Result<void> close(Nanos timeout) override;
  void abort() override;
  engine::Connection connection() const override { return port_ ? port_->connection() : 0; }
  bool needs_posted_receives() const override { return true; }
  Nanos reconnect_timeout() const override { return options_.reconnect_timeout; }

  // Connections made after the first, frames retransmitted, and frames that arrived twice.
  uint64_t reconnects() const { return attempt_ > 0 ? attempt_ - 1 : 0; }
  uint64_t retransmitted() const { return outbox_.retransmitted(); }
  uint64_t doubles() const { return inbox_.doubles(); }

 private:
  // Of the initiator.
  struct Dialing {
    std::vector<std::string> hops;  // after the first relay
    Nanos retry_at;
    Nanos interval = params::kFirstRetry;
    bool reached = false;        // a connection to the first relay was open
    bool welcomed = false;       // on this connection
    bool ever_welcomed = false;  // on any
  };

  RelayedLink(engine::Endpoint& endpoint, const LinkOptions& options)
      : MessageLink(endpoint), options_(options) {}
  Result<void> check(engine::Channel channel, const engine::MessageBytes& bytes,
                     size_t posted) const;
  Result<void> dial();
  void welcome(Arrival arrival);
  void take_frames();
  void handle(const Frame& frame);
  void handle_welcome(uint64_t received);
  void handle_refusal(const Error& error);
  void send_frames();
  void lose(const Error& cause);
  void restore();
  void end(Error error, bool graceful = false);
  void refuse(const Error& error);

  const LinkOptions options_;
  SessionId session_{};
  uint64_t attempt_ = 0;
  std::optional<Dialing> dialing_;       // nothing: the accepting end
  std::shared_ptr<SessionTable> table_;  // of the accepting end
  transport::Address peer_;
  std::unique_ptr<FramePort> port_;
  OperationBook book_;
  Outbox outbox_{book_};
  Inbox inbox_{book_};
  uint64_t confirmed_ = 0;  // received frames that the other end knows of
  bool confirm_due_ = false;
  Nanos dialed_at_;  // the initiator's latest connection
  bool broken_ = false;
  Nanos broken_at_;  // if broken: since when
  Error last_break_;
  std::optional<Error> end_;
  bool graceful_ = false;
};

}  // namespace heddle::relaying
