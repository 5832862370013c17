// Client: a connection to a server of ping and perf that has been welcomed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/endpoint.h"
#include "engine/message_link.h"
#include "measure/control.h"

namespace heddle::measure {

class Client {
 public:
  // Connects and says hello; `server` is the command that should run there. Errors: those of
  // Endpoint::connect and wait_open, kVersion, kCancelled (a signal came), what the server refuses.
  static Result<std::unique_ptr<Client>> connect(engine::Endpoint& endpoint,
                                                 const std::string& host, uint16_t default_port,
                                                 const std::string& server,
                                                 const engine::ConnectionOptions& options = {});
  // The same through relays, in their order, to a server that serves those that come through relays
  // (relaying/relayed_link.h). Errors likewise, and what a relay refuses.
  static Result<std::unique_ptr<Client>> connect_through(engine::Endpoint& endpoint,
                                                         const std::vector<std::string>& relays,
                                                         const std::string& host,
                                                         uint16_t default_port);
  // Says good-bye where the connection still lives.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends a message and waits for the answer, which has a field `wanted`. Errors: what the server
  // refuses, kCancelled (a signal came), why the connection failed.
  Result<Json> ask(const Json& message, const char* wanted);
  // Waits for a message with a field `wanted`. Errors as ask().
  Result<Json> hear(const char* wanted);
  // Why the connection is gone, if it is.
  Result<void> alive() const;

  engine::Endpoint& endpoint() const { return link_->endpoint(); }
  engine::MessageLink& link() const { return *link_; }
  // To the server, or to the first relay.
  engine::Connection connection() const { return link_->connection(); }
  const std::string& peer() const { return peer_; }

 private:
  Client(std::unique_ptr<engine::MessageLink> link, std::string peer);
  Result<void> introduce();

  const std::unique_ptr<engine::MessageLink> link_;
  const std::string peer_;
  std::unique_ptr<ControlChannel> control_;
};

}  // namespace heddle::measure
