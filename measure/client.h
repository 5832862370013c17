// Client: a connection to a server of ping and perf that has been welcomed.
#pragma once

#include <memory>
#include <string>

#include "engine/endpoint.h"
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

  engine::Endpoint& endpoint() const { return endpoint_; }
  engine::Connection connection() const { return connection_; }
  const std::string& peer() const { return peer_; }

 private:
  Client(engine::Endpoint& endpoint, engine::Connection connection);

  engine::Endpoint& endpoint_;
  const engine::Connection connection_;
  const std::string peer_;
  std::unique_ptr<ControlChannel> control_;
};

}  // namespace heddle::measure
