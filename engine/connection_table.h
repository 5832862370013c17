// ConnectionTable: the state of each connection as the endpoint's user sees it, and the accept
// queue. A closed connection keeps its entry until the user releases it, so status() can report the
// cause.
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
  // Takes the oldest connection in the accept queue.
  std::optional<Connection> take_accepted();
  // Null: unknown or released.
  const ConnectionStatus* find(Connection connection) const;
  void give_back(Connection connection);
  // All connections that are not closed.
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
