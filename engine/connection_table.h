// ConnectionTable: the state of each connection as its user sees it, and the queue of those that
// peers opened. A closed connection stays known until its user gives it back, so that the cause can
// be told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "transport/endpoint.h"

namespace heddle::engine {

using Connection = transport::ConnectionId;

enum class ConnectionState : uint8_t { kOpening, kOpen, kClosed };

struct ConnectionStatus {
  ConnectionState state = ConnectionState::kOpening;
  transport::Address peer;
  Error error;  // kClosed: the cause
  bool graceful = false;
};

class ConnectionTable {
 public:
  void add(Connection connection, const transport::Address& peer);
  void handle(const transport::Notice& notice);
  // The oldest connection that a peer opened and nobody has taken yet.
  std::optional<Connection> take_accepted();
  // Null: unknown, or given back.
  const ConnectionStatus* find(Connection connection) const;
  void give_back(Connection connection);
  // Those that are not closed.
  std::vector<Connection> living() const;

 private:
  struct Entry {
    ConnectionStatus status;
    bool taken = true;  // false: in the accept queue
  };
  std::map<Connection, Entry> entries_;
  Ring<Connection> accepted_;
};

}  // namespace heddle::engine
