// Relay: forwards the sessions that arrive at an endpoint to the next hop that each names, if it is
// an allowed destination. It keeps nothing on disk: the ends of a session send again what the relay
// had when it ended.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/endpoint.h"
#include "relaying/destinations.h"
#include "relaying/pipe.h"

namespace heddle::relaying {

struct RelayOptions {
  uint64_t memory_bytes = 0;  // for frames of all sessions, in equal shares
  uint32_t most_sessions = 0;

  // Places of a session in each direction.
  uint32_t frames() const;
};

// What a session was, when it ends.
struct SessionReport {
  std::string from;  // address
  std::string to;    // the next hop, as the session named it; empty: it named none
  PipeCounts there;
  PipeCounts back;
  Nanos lasted;
  Error cause;  // code kClosed: one of its ends, or another relay, closed it
  bool refused = false;
};

struct RelayCounts {
  uint64_t sessions = 0;  // that were forwarded
  uint64_t refused = 0;
  uint64_t turned_away = 0;  // without an answer: too many at a time
  uint64_t frames = 0;       // of ended sessions, both directions
  uint64_t bytes = 0;
  uint64_t most_held_bytes = 0;  // by one direction of a session
};

class Relay {
 public:
  // Errors: kInvalid (too little memory for the sessions).
  static Result<void> check(const RelayOptions& options);
  // Sessions arrive at `near`, and connections to next hops are of `far`. Where the two have
  // sockets of their own, neither side's senders share the receive capacity of the other's. They
  // may be the same.
  Relay(engine::Endpoint& near, engine::Endpoint& far, Destinations destinations,
        const RelayOptions& options, std::function<void(const SessionReport&)> report);
  ~Relay();

  // Moves on what can be, never blocks. To be called after each progress of either endpoint.
  void step();
  size_t sessions() const { return sessions_.size(); }
  // What ended sessions were, and those that run are now.
  RelayCounts counts() const;

 private:
  class Session;
  void accept();
  void note_end(const Session& session);

  engine::Endpoint& near_;
  engine::Endpoint& far_;
  const Destinations destinations_;
  const RelayOptions options_;
  const std::function<void(const SessionReport&)> report_;
  std::vector<std::unique_ptr<Session>> sessions_;
  RelayCounts counts_;
};

}  // namespace heddle::relaying
