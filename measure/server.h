// Server: what `heddle ping --listen` and `heddle perf --listen` run. Both serve both: any number
// of clients at once on one thread; a client that dies takes only its own session with it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/endpoint.h"
#include "measure/server/session.h"
#include "relaying/acceptor.h"

namespace heddle::measure {

class Server {
 public:
  // Which clients it serves.
  enum class Access : uint8_t {
    kDirect,   // those that connect to its endpoint
    kRelayed,  // those that come through relays (relaying/relayed_link.h)
  };

  // All clients together make it hold at most `test_bytes` for their tests and sessions.
  Server(engine::Endpoint& endpoint, SessionReporter reporter, Bytes test_bytes,
         Access access = Access::kDirect);

  // Serves until a signal comes, or, with `once`, until the first client has gone. Returns false if
  // a client died (only with `once`). `each_round` is called between two looks, several times a
  // second.
  bool run(bool once, const std::function<void()>& each_round);
  uint64_t clients() const { return clients_; }
  // Who came while there was no memory for one more.
  uint64_t turned_away() const { return turned_away_; }

 private:
  void accept();
  void welcome(std::unique_ptr<engine::MessageLink> link, TestMemory::Share share);

  engine::Endpoint& endpoint_;
  const SessionReporter reporter_;
  TestMemory memory_;
  std::optional<relaying::Acceptor> relayed_;
  std::vector<std::unique_ptr<Session>> sessions_;
  uint64_t clients_ = 0;
  uint64_t turned_away_ = 0;
};

}  // namespace heddle::measure
