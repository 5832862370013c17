// Server: what `heddle ping --listen` and `heddle perf --listen` run. Both serve both: any number
// of clients at once on one thread; a client that dies takes only its own session with it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "apps/cli/service/session.h"
#include "engine/endpoint.h"

namespace heddle::cli {

class Server {
 public:
  Server(engine::Endpoint& endpoint, SessionReporter reporter)
      : endpoint_(endpoint), reporter_(std::move(reporter)) {}

  // Serves until a signal comes, or, with `once`, until the first client has gone. Returns false if
  // a client died (only with `once`). `each_round` is called between two looks, several times a
  // second.
  bool run(bool once, const std::function<void()>& each_round);
  uint64_t clients() const { return clients_; }

 private:
  engine::Endpoint& endpoint_;
  const SessionReporter reporter_;
  std::vector<std::unique_ptr<Session>> sessions_;
  uint64_t clients_ = 0;
};

}  // namespace heddle::cli
