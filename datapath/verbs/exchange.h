// Exchange: the socket on which a verbs datapath asks its peers for queue pairs, and answers them.
// Requests are repeated until they are answered. It has a UDP port of its own, which tokens carry,
// so that the transport's datagrams stay as they are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "datapath/verbs/exchange_message.h"
#include "transport/address.h"

namespace heddle::datapath {

class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual void handle_message(const transport::Address& from, const ExchangeMessage& message) = 0;
  // No answer came to this request.
  virtual void handle_silence(uint64_t nonce) = 0;
};

class Exchange {
 public:
  // Receives at a free port of `host`. Errors: kExhausted (descriptors), kSystem.
  static Result<std::unique_ptr<Exchange>> open(const transport::Address& host);

  uint16_t port() const { return port_; }
  // Both end a wait: the socket, and a timer for repeats.
  int socket_descriptor() const { return socket_.number(); }
  int timer_descriptor() const { return timer_.number(); }

  // Sends a request; its nonce names it.
  void request(Nanos now, const transport::Address& to, const ExchangeMessage& message);
  // It is answered, or needs no answer any more.
  void finish(uint64_t nonce);
  // Sends once.
  void send(const transport::Address& to, const ExchangeMessage& message);

  // Passes on what has arrived, and repeats what is due.
  void turn(Nanos now, ExchangeHandler& handler);
  bool asks() const { return !requests_.empty(); }

 private:
  struct Request {
    transport::Address to;
    ExchangeMessage message;
    Nanos due;
    Nanos span;
    int tries = 0;
  };

  Exchange() = default;
  void receive(ExchangeHandler& handler);
  void repeat(Nanos now, ExchangeHandler& handler);
  void set_timer();

  Descriptor socket_;
  Descriptor timer_;
  uint16_t port_ = 0;
  bool ipv4_ = true;
  std::map<uint64_t, Request> requests_;  // by nonce
};

}  // namespace heddle::datapath
